// Command toolhost-launcher is the process between toolhost and a plugin, and between a plugin and its commands, see
// package internal/launcher. It comes up in half the time of a program that is its own launcher, which each program is
// that finds none of its build beside it, see package sdk/proctree.
package main

import (
	"os"

	"github.com/toolhost/toolhost/internal/launcher"
)

// main is for those who run it by hand: a launcher ends in the package's init function.
func main() { os.Exit(launcher.ByHand(launcher.Name)) }
