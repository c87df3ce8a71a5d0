// SPDX-License-Identifier: Apache-2.0

// Runs burner as a plugin, which is beside it: its own path with ".so". The arguments are burner's.
package main

import (
	"fmt"
	"os"
	"plugin"
)

func main() {
	opened, err := plugin.Open(os.Args[0] + ".so")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	run, err := opened.Lookup("Main")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	run.(func())()
}
