// SPDX-License-Identifier: Apache-2.0

// Truth says what the runtime knows of addresses of its own code, one line of hexadecimal numbers
// each: as functions_print does, but for flags. The argument is where the file is loaded at by
// itself; addresses are its.
package main

import (
	"bufio"
	_ "encoding/json"
	"fmt"
	_ "net"
	"os"
	_ "regexp"
	"runtime"
	"strconv"
	"strings"
	_ "unsafe"
)

// Of an address behind the one that is meant: all frames, inlined ones too.
//
//go:linkname expand runtime/pprof.runtime_expandFinalInlineFrame
func expand(stack []uintptr) []uintptr

type pair[K comparable, V any] struct {
	key   K
	value V
}

//go:noinline
func (p *pair[K, V]) get(f func(K) V) V {
	if p == nil {
		panic("nil")
	}
	return f(p.key)
}

type shape interface{ area() int }

type square struct{ side int }

func (s square) area() int { return s.side * s.side }

//go:noinline
func sum(shapes []shape) (n int) {
	for _, s := range shapes {
		n += s.area()
	}
	return
}

// What is there to be looked at beside the libraries: generics, closures, wrappers of methods.
func use() {
	p := &pair[string, int]{key: "a"}
	q := &pair[int, float64]{}
	p.get(func(s string) int { return len(s) })
	q.get(func(i int) float64 { return float64(i) * 2 })
	sum([]shape{square{2}, &square{3}})
}

func loadedAt() uint64 {
	exe, _ := os.Executable()
	maps, _ := os.ReadFile("/proc/self/maps")
	for _, line := range strings.Split(string(maps), "\n") {
		if strings.HasSuffix(line, " "+exe) {
			start, _ := strconv.ParseUint(line[:strings.IndexByte(line, '-')], 16, 64)
			return start
		}
	}
	panic("not mapped")
}

func describe(out *bufio.Writer, va uint64, pc uintptr) {
	var lines []string
	next := runtime.FuncForPC(pc + 1)
	if next != nil && next.Entry() == pc+1 {
		return // a function's last byte: the runtime takes it for the next one
	}
	frames := runtime.CallersFrames(expand([]uintptr{pc + 1}))
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.PC != 0 {
			lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%d\t%d\n", f.Function,
				symbolName(&f), f.File, f.Line, startLine(&f)))
		}
	}
	fmt.Fprintf(out, "%x %d\n%s", va, len(lines), strings.Join(lines, ""))
}

func main() {
	use()
	low, _ := strconv.ParseUint(os.Args[1], 16, 64)
	bias := loadedAt() - low
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		va, _ := strconv.ParseUint(in.Text(), 16, 64)
		describe(out, va, uintptr(va+bias))
	}
}
