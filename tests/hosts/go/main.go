// main.go - keeps memory that C allocates for it, under two functions of Go: on a goroutine of its own, and on the first.
package main

/*
#include <stdlib.h>
#include <string.h>
static void *keep(size_t size) { return memset(malloc(size), 1, size); }
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

var kept []unsafe.Pointer

//go:noinline
func innerHold(size int) { kept = append(kept, C.keep(C.size_t(size))) }

//go:noinline
func outerHold(count int) {
	for i := 0; i < count; i++ {
		innerHold(100000)
	}
}

func main() {
	done := make(chan bool)
	go func() { outerHold(500); done <- true }()
	<-done
	outerHold(500)
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
}
