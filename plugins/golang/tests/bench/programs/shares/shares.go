// SPDX-License-Identifier: Apache-2.0

// shares SECONDS [FILE]: work of many kinds at once, which Go's own profiler samples for so long, into the file: JSON,
// regular expressions, sorting, hashes, maps, text, generics, garbage, channels, recursion, growing stacks, panics,
// clocks. Without a file it sleeps.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime/pprof"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type item struct {
	Name   string            `json:"name"`
	Number int               `json:"number"`
	Share  float64           `json:"share"`
	Tags   []string          `json:"tags"`
	More   map[string]string `json:"more"`
}

var sink uint64

func keep(n uint64) { atomic.AddUint64(&sink, n) }

func items(n int) []item {
	all := make([]item, n)
	for i := range all {
		all[i] = item{"item " + strconv.Itoa(i*7919%n), i, float64(i) / 3, []string{"a", "b"}, map[string]string{"k": "v"}}
	}
	return all
}

func encode() {
	text, err := json.Marshal(items(100))
	if err != nil {
		panic(err)
	}
	var back []item
	if err := json.Unmarshal(text, &back); err != nil {
		panic(err)
	}
	keep(uint64(len(back)))
}

var word = regexp.MustCompile(`(\w+)@(\w+)\.(com|org)|[0-9]{3,5}x+y`)

func search() {
	text := strings.Repeat("some words, nobody@example.org and 1234xxxy; ", 40)
	keep(uint64(len(word.FindAllStringIndex(text, -1))))
}

type byName []item

func (b byName) Len() int           { return len(b) }
func (b byName) Less(i, j int) bool { return b[i].Name < b[j].Name }
func (b byName) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

func order() {
	all := items(300)
	sort.Sort(byName(all))
	sort.Slice(all, func(i, j int) bool { return all[i].Share > all[j].Share })
	keep(uint64(all[0].Number))
}

func hash() {
	var block [4096]byte
	for i := 0; i < 20; i++ {
		sum := sha256.Sum256(block[:])
		copy(block[:], sum[:])
	}
	keep(uint64(block[0]))
}

func count() {
	seen := map[string]int{}
	for i := 0; i < 3000; i++ {
		seen["key"+strconv.Itoa(i%500)]++
	}
	keep(uint64(len(seen)))
}

func text() {
	var out bytes.Buffer
	for i := 0; i < 300; i++ {
		fmt.Fprintf(&out, "%5d %-8s %6.2f\n", i, "row", float64(i)/7)
	}
	keep(uint64(len(strings.Fields(strings.ToUpper(out.String())))))
}

func apply[T, R any](list []T, f func(T) R) []R {
	made := make([]R, 0, len(list))
	for _, v := range list {
		made = append(made, f(v))
	}
	return made
}

func total[T int | float64](list []T) (sum T) {
	for _, v := range list {
		sum += v
	}
	return sum
}

func generic() {
	list := make([]int, 2000)
	for i := range list {
		list[i] = i
	}
	for i := 0; i < 20; i++ {
		keep(uint64(total(apply(list, func(n int) float64 { return float64(n) * 0.5 }))))
	}
}

type tree struct {
	left, right *tree
	room        [4]uint64
}

func grown(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{left: grown(depth - 1), right: grown(depth - 1)}
}

func garbage() { keep(uint64(len(grown(11).room))) }

func fibonacci(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

func recursion() { keep(fibonacci(24)) }

//go:noinline
func deeper(depth int) uint64 {
	if depth == 0 {
		return fibonacci(18)
	}
	return deeper(depth-1) + 1
}

func deep() { keep(deeper(150)) }

func multiply() {
	const size = 60
	var a, b, c [size][size]float64
	for i := 0; i < size; i++ {
		for j := 0; j < size; j++ {
			a[i][j], b[i][j] = float64(i+j), float64(i-j)
		}
	}
	for i := 0; i < size; i++ {
		for j := 0; j < size; j++ {
			for k := 0; k < size; k++ {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	keep(uint64(c[3][4]))
}

func mix(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	return x ^ x<<17
}

func twice(x uint64) uint64 { return mix(mix(x) + 1) }

func random() {
	x := uint64(88172645463325252)
	for i := 0; i < 100000; i++ {
		x = twice(x)
	}
	keep(x)
}

func channels() {
	in, out := make(chan int), make(chan int, 4)
	go func() {
		for v := range in {
			out <- v + 1
		}
		close(out)
	}()
	go func() {
		for i := 0; i < 1000; i++ {
			in <- i
		}
		close(in)
	}()
	for v := range out {
		keep(uint64(v))
	}
}

func guarded(n int) (r int) {
	defer func() {
		if recover() != nil {
			r = n
		}
	}()
	var none []int
	return none[n]
}

func panics() {
	for i := 0; i < 200; i++ {
		keep(uint64(guarded(i)))
	}
}

//go:noinline
func fill(depth int) byte {
	var room [1024]byte
	room[depth] = 1
	if depth == 0 {
		return room[0]
	}
	return fill(depth-1) + room[depth]
}

func stacks() {
	var all sync.WaitGroup
	for i := 0; i < 10; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			keep(uint64(fill(100)))
		}()
	}
	all.Wait()
}

func clocks() {
	for i := 0; i < 3000; i++ {
		keep(uint64(time.Now().Nanosecond()))
	}
}

func locked() {
	var lock sync.Mutex
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := 0; n < 500; n++ {
				lock.Lock()
				sink++
				lock.Unlock()
			}
		}()
	}
	all.Wait()
}

var kinds = []func(){encode, search, order, hash, count, text, generic, garbage, recursion, deep, multiply, random,
	channels, panics, stacks, clocks, locked}

func work(end time.Time, first int) {
	for i := first; time.Now().Before(end); i++ {
		kinds[i%len(kinds)]()
	}
}

func profile(path string) (stop func()) {
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		panic(err)
	}
	return func() {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			panic(err)
		}
	}
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	wanted := time.Duration(seconds * float64(time.Second))
	if len(os.Args) < 3 {
		time.Sleep(wanted)
		return
	}
	defer profile(os.Args[2])()
	end := time.Now().Add(wanted)
	var all sync.WaitGroup
	for i := 0; i < 2; i++ {
		all.Add(1)
		go func(first int) {
			defer all.Done()
			work(end, first)
		}(i * len(kinds) / 2)
	}
	all.Wait()
}
