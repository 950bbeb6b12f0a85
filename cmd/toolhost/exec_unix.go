//go:build unix

package main

import (
	"os"
	"syscall"
)

// replaceProcess runs a program in place of this one.
func replaceProcess(program string, args []string) error {
	return syscall.Exec(program, append([]string{program}, args...), os.Environ())
}
