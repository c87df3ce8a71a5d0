// SPDX-License-Identifier: Apache-2.0

// A load of a dozen call sites of like weight, direct and inlined, of methods, of generic functions, of closures
// and through an interface, that writes its own CPU profile by runtime/pprof: calls FILE SECONDS. Both profiles
// of it are given to `go build -pgo`. The functions that are called cost more than what the compiler inlines
// without a profile, and less than what it inlines with one, so that it has something to say of each.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"
	"unicode/utf8"
)

type number interface{ ~uint32 | ~uint64 }

// One round of arithmetic that cannot be left out, small enough to be inlined anywhere.
func round(h uint32, n int) uint32 {
	h ^= uint32(n)
	h *= 16777619
	return h ^ h>>13
}

func direct(h uint32, n int) uint32 {
	for i := 0; i < n; i++ {
		h = round(h, i) + round(h+1, i)
		h = h<<3 | h>>29
		h ^= uint32(i) << 9
		h += h>>7 | uint32(n)
		h *= 2654435761
	}
	return h
}

func other(h uint32, n int) uint32 {
	for i := n; i > 0; i-- {
		h = round(h^0x55555555, i)
		h = h<<5 | h>>27
		h += uint32(i) ^ h>>3
		h ^= h >> 11
		h = round(h, n) * 40503
	}
	return h
}

type table struct{ rows [64]uint32 }

func (t *table) fill(h uint32, n int) uint32 {
	for i := 0; i < n; i++ {
		at := (h ^ uint32(i)) % uint32(len(t.rows))
		t.rows[at] += round(h, i)
		h = h*31 + t.rows[at]
		h ^= h >> 15
		t.rows[(at+7)%64] ^= h
	}
	return h
}

type pair struct{ a, b uint32 }

func (p pair) twist(n int) uint32 {
	for i := 0; i < n; i++ {
		p.a, p.b = round(p.b, i), p.a^p.b<<7
		p.a += p.b >> 9
		p.b = p.b*31 + uint32(i)
		p.a ^= p.a << 3
		p.b -= p.a >> 5
	}
	return p.a + p.b
}

func generic[T number](h T, n int) T {
	for i := 0; i < n; i++ {
		h ^= T(i)
		h = h*16777619 + T(n)
		h ^= h >> 13
		h += h << 5
		h ^= h>>7 | T(i)<<3
		h = h<<3 | h>>29
		h -= T(i) * 7
	}
	return h
}

//go:noinline
func fold(h uint32, n int, step func(h uint32, i int) uint32) uint32 {
	for i := 0; i < n; i++ {
		h = step(h, i)
	}
	return h
}

type shape interface{ area(n int) float64 }
type square struct{ side float64 }
type circle struct{ radius float64 }

func (s *square) area(n int) float64 {
	sum := s.side
	for i := 1; i <= n; i++ {
		sum += s.side * sum / float64(i)
		sum -= float64(int(sum/7)) * 3
		sum = sum*0.5 + s.side/float64(n+i)
		sum += float64(i&3) * s.side
	}
	return sum
}

func (c *circle) area(n int) float64 {
	return c.radius * float64(n)
}

//go:noinline
func areas(shapes []shape, n int) float64 {
	sum := 0.0
	for _, s := range shapes {
		sum += s.area(n)
	}
	return sum
}

//go:noinline
func letters(text string) uint32 {
	sum := uint32(0)
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		sum = round(sum, int(r))
		text = text[size:]
	}
	return sum
}

//go:noinline
func nested(h uint32, n int) uint32 {
	return direct(other(h, n), n)
}

//go:noinline
func turn(t *table, shapes []shape, text string, h uint32) uint32 {
	h = direct(h, 1000)
	h = other(h, 1000)
	h = t.fill(h, 1000)
	h += pair{h, 7}.twist(1000)
	h = generic(h, 1000)
	h += uint32(generic(uint64(h), 1000))
	h = fold(h, 1000, func(h uint32, i int) uint32 {
		h = round(h, i)*3 + round(h+5, i)
		h = h<<9 | h>>23
		h ^= uint32(i) * 77
		h += h >> 4
		return round(h, 3)
	})
	h += uint32(areas(shapes, 300))
	h += letters(text)
	return nested(h, 1000)
}

func run(seconds int) uint32 {
	shapes := []shape{&square{2}, &square{3}, &square{5}, &square{7}, &circle{4}}
	text := ""
	for i := 0; i < 200; i++ {
		text += "größe → \U0001f600 "
	}
	t, sum := &table{}, uint32(1)
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); {
		for i := 0; i < 100; i++ {
			sum = turn(t, shapes, text, sum)
		}
	}
	return sum
}

func main() {
	seconds, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	runtime.SetCPUProfileRate(500) // StartCPUProfile complains of it, and takes it
	if err := pprof.StartCPUProfile(file); err != nil {
		panic(err)
	}
	sum := run(seconds)
	pprof.StopCPUProfile()
	file.Close()
	fmt.Println(sum)
}
