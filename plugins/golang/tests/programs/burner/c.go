// SPDX-License-Identifier: Apache-2.0

//go:build cgo
// +build cgo

package main

/*
typedef unsigned long u64;
u64 c_spin(u64 n);
u64 c_turns(u64 n);
u64 c_alone(int seconds);
extern u64 goTurn(u64 n);
extern u64 goAlone(u64 n);
*/
import "C"

import (
	"sync/atomic"
	"time"
)

const turns = 5 // Go, C, Go, ... nested so deep

//go:noinline
func turn(n uint64) uint64 {
	if n == 0 {
		return spin(n)
	}
	return uint64(C.c_turns(C.u64(n)))
}

//export goTurn
func goTurn(n C.u64) C.u64 {
	return C.u64(turn(uint64(n)))
}

//export goAlone
func goAlone(n C.u64) C.u64 {
	return C.u64(spin(uint64(n)))
}

// For a program of C's that has this as a library.
//
//export goMain
func goMain() {
	main()
}

//go:noinline
func inC(n uint64) uint64 {
	return uint64(C.c_spin(C.u64(n)))
}

//go:noinline
func cCalls(end time.Time) {
	until(end, func() { atomic.AddUint64(&sink, inC(5)) })
}

//go:noinline
func cTurns(end time.Time) {
	until(end, func() { atomic.AddUint64(&sink, turn(turns)) })
}

// A thread of C's that calls Go, where no goroutine waits for it.
//
//go:noinline
func cThreads(end time.Time) {
	until(end, func() { atomic.AddUint64(&sink, uint64(C.c_alone(200))) })
}

const (
	toC   = " ?runtime.asmcgocall_landingpad runtime.asmcgocall ?runtime.asmcgocall runtime.cgocall "
	fromC = " ... runtime.cgocallbackg1 runtime.cgocallbackg ?runtime.cgocallbackg runtime.cgocallback* ?runtime.cgocallback* ?_cgoexp* crosscall2 "
)

func init() {
	line := "STACK main.spin main.turn"
	for i := 0; i < turns; i++ {
		line += " ?main.goTurn" + fromC + "goTurn|C c_turns|C _cgo_*_Cfunc_c_turns|C" + toC + "main._Cfunc_c_turns ?main.turn.func1 main.turn"
	}
	add("c_calls", cCalls, "STACK c_spin|C _cgo_*_Cfunc_c_spin|C"+toC+
		"main._Cfunc_c_spin ?main.inC.func1 main.inC main.cCalls.func1 main.until main.cCalls")
	add("c_turns", cTurns, line+" main.cTurns.func1 main.until main.cTurns", "MAY ... main.turn main.cTurns.func1 main.until main.cTurns")
	add("c_threads", cThreads, "STACK main.spin ?main.goAlone"+fromC+"goAlone|C c_thread|C", "MAY ... c_alone|C _cgo_*_Cfunc_c_alone|C"+toC+
		"main._Cfunc_c_alone ?main.cThreads.func1.1 ... main.until main.cThreads", "MAY ... c_thread|C")
}
