// scrape.go URL...: asks for the pages that Parca, Grafana Alloy and Coroot ask every service for, all at once, and checks what these three
// demand of an answer with Google's own parser. Prints a line for each page: its name, its samples, or what is wrong.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/google/pprof/profile"
)

func check(url string) string {
	answer, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err.Error()
	case answer.StatusCode != 200:
		return fmt.Sprint("status ", answer.StatusCode, " ", string(body))
	case !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/octet-stream"):
		return "type " + answer.Header.Get("Content-Type")
	case len(body) <= 2:
		return "empty"
	}
	p, err := profile.Parse(bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	if err := p.CheckValid(); err != nil {
		return err.Error()
	}
	if p.TimeNanos == 0 {
		return "no time_nanos"
	}
	if p.SampleType == nil {
		return "no sample types"
	}
	var plain bytes.Buffer
	p.WriteUncompressed(&plain)
	if plain.Len() > 4<<20 || len(p.Sample) > 16000 {
		return fmt.Sprint("too large: ", plain.Len(), " bytes, ", len(p.Sample), " samples")
	}
	for i, m := range p.Mapping {
		if m.ID != uint64(i+1) {
			return "ids of mappings"
		}
	}
	for i, f := range p.Function {
		if f.ID != uint64(i+1) {
			return "ids of functions"
		}
	}
	seen := map[uint64]bool{}
	for i, l := range p.Location {
		if l.ID != uint64(i+1) {
			return "ids of locations"
		}
		if seen[l.Address] {
			return fmt.Sprintf("the address %#x twice", l.Address)
		}
		seen[l.Address] = true
	}
	var sum int64
	other := ""
	for _, s := range p.Sample {
		sum += s.Value[len(s.Value)-1]
		if len(s.Location) == 1 && len(s.Location[0].Line) == 1 && s.Location[0].Line[0].Function.Name == "other" {
			other = " other"
		}
	}
	for _, c := range p.Comments {
		if strings.Contains(c, "merged") {
			other += ", " + c
		}
	}
	return fmt.Sprint("good ", len(p.Sample), " samples ", sum, " bytes", other)
}

func main() {
	var all sync.WaitGroup
	results := make([]string, len(os.Args)-1)
	for i, url := range os.Args[1:] {
		all.Add(1)
		go func() { results[i] = check(url); all.Done() }()
	}
	all.Wait()
	for i, url := range os.Args[1:] {
		fmt.Println(url[strings.LastIndex(url, "/")+1:]+":", results[i])
	}
}
