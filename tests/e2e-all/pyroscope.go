// pyroscope.go URL TOKEN: a service with Pyroscope's own client, which pushes its heap and its CPU time there. It keeps 64 MB.
package main

import (
	"os"
	"time"

	"github.com/grafana/pyroscope-go"
)

var kept [][]byte

func keepMemory() {
	for i := 0; i < 64; i++ {
		kept = append(kept, make([]byte, 1<<20))
	}
}

func main() {
	keepMemory()
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "go.service",
		ServerAddress:   os.Args[1],
		HTTPHeaders:     map[string]string{"Authorization": "Bearer " + os.Args[2]},
		Tags:            map[string]string{"version": "1.2", "hostname": "pod-7"},
		UploadRate:      2 * time.Second,
		ProfileTypes:    []pyroscope.ProfileType{pyroscope.ProfileInuseSpace, pyroscope.ProfileInuseObjects, pyroscope.ProfileAllocSpace, pyroscope.ProfileAllocObjects, pyroscope.ProfileCPU},
	})
	if err != nil {
		panic(err)
	}
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); {
		for i := range kept {
			kept[i][0]++
		}
	}
	profiler.Stop()
}
