// SPDX-License-Identifier: Apache-2.0

// Burns CPU in stacks that it prints itself, in the grammar of tests/kit/stacks.py without the frames that
// start a goroutine: burner SECONDS [SCENARIO...], or SECONDS idle to sleep. Each scenario is one goroutine's; functions that are not to be
// inlined say so. It compiles with Go 1.15.
package main

import (
	"fmt"
	"io/ioutil"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type scenario struct {
	name  string
	run   func(end time.Time)
	lines []string // STACK lines, and MAY lines; all end in the function that runs it
}

var scenarios []scenario

func add(name string, run func(end time.Time), lines ...string) {
	scenarios = append(scenarios, scenario{name, run, lines})
}

var sink uint64 // of all goroutines

//go:noinline
func spin(n uint64) uint64 {
	x := n
	for i := uint64(0); i < 200000; i++ {
		x = x*6364136223846793005 + i
	}
	return x
}

//go:noinline
func until(end time.Time, f func()) {
	for time.Now().Before(end) {
		f()
	}
}

//go:noinline
func recurse(depth int) uint64 {
	if depth == 0 {
		return spin(1)
	}
	return recurse(depth-1) + 1
}

//go:noinline
func deep(end time.Time) {
	until(end, func() { atomic.AddUint64(&sink, recurse(200)) })
}

// grow asks for more stack at each level; a goroutine of its own begins with the smallest one.
//
//go:noinline
func grow(depth int) byte {
	var room [2048]byte
	room[depth%2048] = byte(depth)
	if depth == 0 {
		return room[0]
	}
	return grow(depth-1) + room[depth%2048]
}

//go:noinline
func grown(done chan byte) {
	done <- grow(300)
}

//go:noinline
func growing(end time.Time) {
	until(end, func() {
		done := make(chan byte)
		go grown(done)
		atomic.AddUint64(&sink, uint64(<-done))
	})
}

//go:noinline
func now() int64 {
	var sum int64
	for i := 0; i < 20000; i++ {
		sum += time.Now().UnixNano()
	}
	return sum
}

//go:noinline
func clocks(end time.Time) {
	until(end, func() { atomic.AddUint64(&sink, uint64(now())) })
}

type node struct {
	left, right *node
	room        [16]uint64
}

//go:noinline
func build(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: build(depth - 1), right: build(depth - 1)}
}

//go:noinline
func garbage(end time.Time) {
	until(end, func() { atomic.AddUint64(&sink, uint64(len(build(14).room))) })
}

//go:noinline
func fail(n int) int {
	var none []int
	return none[n]
}

//go:noinline
func recovered(n int) (r int) {
	defer func() {
		if recover() != nil {
			r = int(spin(uint64(n)))
		}
	}()
	return fail(n)
}

//go:noinline
func panics(end time.Time) {
	until(end, func() { atomic.AddUint64(&sink, uint64(recovered(7))) })
}

//go:noinline
func fill(m map[int]int, n int) {
	for i := 0; i < n; i++ {
		m[i] += i
	}
}

//go:noinline
func maps(end time.Time) {
	m := map[int]int{}
	until(end, func() { fill(m, 20000) })
}

// A loop without calls: it is stopped by a signal where it is.
//
//go:noinline
func tight(n uint64) uint64 {
	x := n
	for i := uint64(0); i < 50000000; i++ {
		x ^= x<<13 ^ i
	}
	return x
}

//go:noinline
func preempted(end time.Time) {
	until(end, func() { atomic.AddUint64(&sink, tight(3)) })
}

//go:noinline
func exchange(in, out chan int, n int) {
	for i := 0; i < n; i++ {
		out <- i
		<-in
	}
}

//go:noinline
func answer(in, out chan int) {
	for v := range in {
		out <- v
	}
}

//go:noinline
func channels(end time.Time) {
	in, out := make(chan int), make(chan int)
	go func() { answer(out, in) }()
	until(end, func() { exchange(in, out, 2000) })
	close(out)
}

//go:noinline
func choose(a, b chan int, n int) int {
	got := 0
	for i := 0; i < n; i++ {
		select {
		case a <- i:
		case got = <-a:
		case got = <-b:
		}
	}
	return got
}

//go:noinline
func selects(end time.Time) {
	a, b := make(chan int, 1), make(chan int)
	until(end, func() { atomic.AddUint64(&sink, uint64(choose(a, b, 2000))) })
}

//go:noinline
func climb(depth int) uint64 {
	if depth == 0 {
		return spin(2)
	}
	return climb(depth-1) + 1
}

//go:noinline
func member(all *sync.WaitGroup) {
	defer all.Done()
	climb(20)
}

// A thousand goroutines at once.
//
//go:noinline
func crowd(end time.Time) {
	until(end, func() {
		var all sync.WaitGroup
		all.Add(1000)
		for i := 0; i < 1000; i++ {
			go member(&all)
		}
		all.Wait()
	})
}

// Go's own profiler sends signals.
//
//go:noinline
func profiled(end time.Time) {
	if err := pprof.StartCPUProfile(ioutil.Discard); err != nil {
		panic(err)
	}
	until(end, func() { atomic.AddUint64(&sink, spin(4)) })
	pprof.StopCPUProfile()
}

func innermost(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	return x*6364136223846793005 + 1442695040888963407
}

func middle(x uint64) uint64 {
	return innermost(innermost(x)+1) ^ 5
}

//go:noinline
func outer(n uint64) uint64 {
	x := n
	for i := 0; i < 200000; i++ {
		x = middle(x)
	}
	return x
}

// Two functions that compilers put into their callers.
//
//go:noinline
func inlined(end time.Time) {
	until(end, func() { atomic.AddUint64(&sink, outer(9)) })
}

func init() {
	add("channels", channels, "MAY ... main.answer main.channels.func1", "STACK ... main.exchange main.channels.func2 main.until main.channels")
	add("selects", selects, "STACK ... runtime.selectgo main.choose main.selects.func1 main.until main.selects",
		"MAY ... main.choose main.selects.func1 main.until main.selects")
	add("crowd", crowd, "MAY ... main.crowd.func1 main.until main.crowd", "MAY ... main.member ?main.crowd.func*",
		"STACK main.spin main.climb{21} main.member ?main.crowd.func*")
	add("profiled", profiled, "STACK main.spin main.profiled.func1 main.until main.profiled", "MAY ... main.profiled")
	add("inlined", inlined, "STACK main.innermost main.middle main.outer main.inlined.func1 main.until main.inlined")
	add("deep", deep, "STACK main.spin main.recurse{201} main.deep.func1 main.until main.deep")
	add("growing", growing, "MAY ... main.grown ?main.growing.func1.*", "MAY ... main.growing.func1 main.until main.growing",
		"STACK runtime.* ... runtime.newstack runtime.morestack main.grow+ main.grown ?main.growing.func1.*")
	add("clocks", clocks, "STACK ... main.now main.clocks.func1 main.until main.clocks",
		"STACK VDSO ?runtime.nanotime1 time.now* time.Now main.now main.clocks.func1 main.until main.clocks")
	add("garbage", garbage, "STACK ... main.build+ main.garbage.func1 main.until main.garbage")
	add("panics", panics, "STACK main.spin main.recovered.func1 ... runtime.gopanic ... main.fail main.recovered main.panics.func1 main.until main.panics")
	add("maps", maps, "STACK ... main.fill main.maps.func1 main.until main.maps")
	add("preempted", preempted, "STACK ... main.tight main.preempted.func1 main.until main.preempted")
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

func wanted(name string) bool {
	for _, arg := range os.Args[2:] {
		if arg == name {
			return true
		}
	}
	return len(os.Args) < 3
}

func main() {
	if len(os.Args) < 2 {
		fmt.Println("burner SECONDS [SCENARIO...]")
		os.Exit(2)
	}
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	fmt.Println("VERSION", runtime.Version())
	if len(os.Args) == 3 && os.Args[2] == "idle" {
		time.Sleep(time.Duration(seconds * float64(time.Second)))
		return
	}
	time.Sleep(500 * time.Millisecond) // what is judged is not how soon a process is known
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var all sync.WaitGroup
	for i := range scenarios {
		s := &scenarios[i]
		if !wanted(s.name) {
			continue
		}
		fmt.Println("SCENARIO", s.name)
		fmt.Println(strings.Join(s.lines, "\n"))
		all.Add(1)
		go func() {
			defer all.Done()
			s.run(end)
		}()
	}
	all.Wait()
	fmt.Println("DONE", sink%2)
	fmt.Println("CPU", cpuSeconds())
}

// Main is for who opens this as a plugin.
func Main() {
	main()
}
