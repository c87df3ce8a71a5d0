// SPDX-License-Identifier: Apache-2.0

// Counts the time of its own lines: tests/kit/check_lines.py. Argument: seconds.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

//go:noinline
func now() float64 {
	var use syscall.Rusage

	syscall.Getrusage(1, &use) // RUSAGE_THREAD
	return float64(use.Utime.Sec+use.Stime.Sec) + float64(use.Utime.Usec+use.Stime.Usec)/1e6
}

//go:noinline
func burn(seconds float64) (spent [3]float64, x uint64) {
	for end := now() + seconds; now() < end; {
		a := now()
		for i := uint64(0); i < 10000000; i++ { x = x*3 + i }            // line 26 of its own
		b := now()
		for i := uint64(0); i < 20000000; i++ { x = x*3 + i }            // line 28 of its own
		c := now()
		for i := uint64(1); i < 3000000; i++ { x += (x + i) / i % 1000 } // line 30 of its own
		d := now()
		spent[0], spent[1], spent[2] = spent[0]+b-a, spent[1]+c-b, spent[2]+d-c
	}
	return
}

func main() {
	runtime.LockOSThread()
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	spent, _ := burn(seconds)
	for i, line := range []int{26, 28, 30} {
		fmt.Printf("LINE %d %.4f\n", line, spent[i])
	}
}
