//go:build !windows

package main

import "os/exec"

// lookPath finds a program in the plugin's own PATH.
func lookPath(name string) (string, error) { return exec.LookPath(name) }
