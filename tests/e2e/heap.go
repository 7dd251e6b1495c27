// heap.go - allocates along a few paths, some recursive, and writes its heap profile as Go's runtime does.
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

type node struct {
	child *node
	data  [100]byte
}

var keep []any

func deep(n int) *node {
	if n == 0 {
		return &node{}
	}
	return &node{child: deep(n - 1)}
}

func main() {
	runtime.MemProfileRate = 512
	for i := 0; i < 2000; i++ {
		keep = append(keep, deep(i%7), make([]byte, 100+i%50*16))
	}
	runtime.GC()
	pprof.Lookup("heap").WriteTo(os.Stdout, 0)
}
