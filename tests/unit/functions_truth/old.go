// SPDX-License-Identifier: Apache-2.0

//go:build !go1.21

package main

import "runtime"

// The runtime does not say: -1 and nothing.
func startLine(f *runtime.Frame) int { return -1 }

func symbolName(f *runtime.Frame) string { return "" }
