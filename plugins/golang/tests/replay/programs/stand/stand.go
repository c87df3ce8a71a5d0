// SPDX-License-Identifier: Apache-2.0

// Stays in stacks of each kind, a goroutine for each: inlined functions, a panic of an instruction, the system stack,
// a stack that grows, a signal's handler, and C that calls Go that calls C. For Go 1.15 and newer.
package main

/*
void c_stand(void);
unsigned long c_turn(unsigned long left);
*/
import "C"

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"
)

// The threads that are recorded have names: PR_SET_NAME, linux/prctl.h.
func name(thread string) {
	text := append([]byte(thread), 0)
	syscall.RawSyscall(syscall.SYS_PRCTL, 15, uintptr(unsafe.Pointer(&text[0])), 0)
}

var sink uint64

//go:noinline
func stand(x uint64) uint64 {
	for x != 0 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

func innermost(x uint64) uint64 {
	return stand(x|1) ^ 3
}

func middle(x uint64) uint64 {
	return innermost(x^2) ^ 5
}

// Two functions that compilers put into their callers.
//
//go:noinline
func inlined() {
	sink = middle(7)
}

//go:noinline
func pause() {
	for {
		syscall.Syscall(syscall.SYS_PAUSE, 0, 0, 0)
	}
}

type box struct {
	room [64]int
}

//go:noinline
func fail(b *box) int {
	return b.room[3]
}

// The nil is found by a signal.
//
//go:noinline
func panics() {
	defer func() {
		_ = recover()
		pause()
	}()
	sink += uint64(fail(nil))
}

//go:noinline
func describe(left int, text []byte) int {
	if left > 0 {
		return describe(left-1, text) + 1
	}
	return runtime.Stack(text, false)
}

// Go's own traceback is made on the system stack.
//
//go:noinline
func described() {
	text := make([]byte, 16<<10)
	for {
		name("described")
		sink += uint64(describe(40, text))
	}
}

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
	name("growing")
	done <- grow(100)
}

//go:noinline
func growing() {
	for done := make(chan byte); ; {
		go grown(done)
		sink += uint64(<-done)
	}
}

// Each call ends in Go's own handler.
//
//go:noinline
func signalled() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
	pid, thread := uintptr(os.Getpid()), uintptr(syscall.Gettid())
	for {
		syscall.RawSyscall(syscall.SYS_TGKILL, pid, thread, uintptr(syscall.SIGUSR1))
	}
}

//go:noinline
func turn(left uint64) uint64 {
	if left == 0 {
		C.c_stand()
	}
	return uint64(C.c_turn(C.ulong(left - 1)))
}

//export goTurn
func goTurn(left C.ulong) C.ulong {
	return C.ulong(turn(uint64(left)))
}

// Its stack has grown before, and stays where it is: who does not know the goroutine goes by rbp in
// asmcgocall, which leads to where the stack was.
//
//go:noinline
func turns() {
	sink += uint64(grow(20))
	sink += turn(2)
}

// The first thread keeps its name.
func init() {
	runtime.LockOSThread()
}

// Stays in its thread.
func stay(thread string, run func()) {
	runtime.LockOSThread()
	name(thread)
	run()
}

// No collection: it would wait for "inlined", which nothing interrupts (GODEBUG=asyncpreemptoff=1).
func main() {
	runtime.GOMAXPROCS(8)
	debug.SetGCPercent(-1)
	go growing()
	go described()
	go stay("inlined", inlined)
	go stay("signalled", signalled)
	go stay("panics", panics)
	go stay("turns", turns)
	fmt.Println("ready")
	select {}
}
