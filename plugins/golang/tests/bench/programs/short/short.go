// SPDX-License-Identifier: Apache-2.0

// A program that is over in five milliseconds.
package main

import (
	"sort"
	"strings"
	"time"
)

//go:noinline
func words(n int) []string {
	made := make([]string, 0, n)
	for i := 0; i < n; i++ {
		made = append(made, strings.Repeat(string(rune('a'+i%26)), 1+i%7))
	}
	return made
}

func main() {
	for start := time.Now(); time.Since(start) < 5*time.Millisecond; {
		sort.Strings(words(500))
	}
}
