// pprof-go.go - writes a heap profile, as pprof and as text, and a CPU profile with labels into the folder named.
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

var kept [][]byte

func hold(size int) { kept = append(kept, make([]byte, size)) }

func burn(wait time.Duration) (length int) {
	for end := time.Now().Add(wait); time.Now().Before(end); {
		length += len(strings.Repeat("x", 100))
	}
	return length
}

func create(name string) *os.File {
	file, err := os.Create(filepath.Join(os.Args[1], name))
	if err != nil {
		panic(err)
	}
	return file
}

func main() {
	runtime.MemProfileRate = 4096
	cpu := create("cpu.pb.gz")
	pprof.StartCPUProfile(cpu)
	labels := pprof.Labels("request", "one", "who", "me")
	pprof.Do(context.Background(), labels, func(context.Context) { burn(300 * time.Millisecond) })
	burn(200 * time.Millisecond)
	pprof.StopCPUProfile()
	cpu.Close()
	for i := 0; i < 2000; i++ {
		hold(100 + i*7)
	}
	runtime.GC()
	heap, text := create("heap.pb.gz"), create("heap.txt")
	pprof.Lookup("heap").WriteTo(heap, 0)
	pprof.Lookup("heap").WriteTo(text, 1)
	heap.Close()
	text.Close()
}
