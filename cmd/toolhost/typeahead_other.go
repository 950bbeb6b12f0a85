//go:build !linux

package main

import "io"

// forgetTyped is for terminals of Linux only.
func forgetTyped(io.Reader) {}
