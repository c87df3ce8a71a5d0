// SPDX-License-Identifier: Apache-2.0

// A stack of Go functions that is deeper than what BPF walks in one run, and one that changes stacks.
//
//	climb SECONDS [REST]
//
// Prints which stacks its time is spent in; the grammar is in tests/kit/stacks.py. Rests first, so long as it may
// take to attach to it. One thread, no collection: what is sampled is this.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

const calls = 240

var sink uint64

func turn(x uint64) uint64 {
	return x*6364136223846793005 + 1442695040888963407
}

//go:noinline
func spin(n uint64) uint64 {
	x := n
	for i := 0; i < 3000000; i++ {
		x = turn(x)
	}
	return x
}

//go:noinline
func climb(left int) uint64 {
	if left == 0 {
		return spin(7)
	}
	return climb(left-1) + 1
}

// A goroutine's stack is too small for this: the runtime copies it to a larger one.
//
//go:noinline
func grow(left int) byte {
	var room [2048]byte
	room[left%2048] = byte(left)
	if left == 0 {
		return room[0]
	}
	return grow(left-1) + room[left%2048]
}

//go:noinline
func grown(done chan byte) {
	done <- grow(300)
}

//go:noinline
func run(end time.Time) {
	for time.Now().Before(end) {
		sink += climb(calls)
		done := make(chan byte)
		go grown(done)
		sink += uint64(<-done)
	}
}

func seconds(at int) time.Duration {
	if at >= len(os.Args) {
		return 0
	}
	n, err := strconv.ParseFloat(os.Args[at], 64)
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	return time.Duration(n * float64(time.Second))
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

func main() {
	const (
		root    = " main.run main.main runtime.main runtime.goexit*"
		started = " main.grown ?main.run.* runtime.goexit*"
		own     = "?VDSO ?runtime.*|time.*|internal/*+" // of the runtime
	)
	fmt.Printf("STACK ?main.turn main.spin main.climb{%d}%s\n", calls+1, root)
	fmt.Println("STACK runtime.*+ runtime.newstack runtime.morestack* main.grow+" + started)
	fmt.Println("MAY " + own + " main.grow+" + started + "\nMAY " + own + started)
	fmt.Println("MAY main.climb+" + root + "\nMAY " + own + root)
	fmt.Println("MAY ... runtime.rt0_go*") // its start
	fmt.Println("MAY runtime.*+ runtime.sysmon runtime.*+\nMAY runtime.*+ runtime.mcall*")
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	time.Sleep(seconds(2))
	run(time.Now().Add(seconds(1)))
	fmt.Printf("CPU %.3f\n", cpuSeconds())
}
