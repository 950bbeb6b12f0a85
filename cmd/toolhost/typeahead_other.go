//go:build !linux

package main

import "io"

// discardTypeahead is for terminals of Linux only.
func discardTypeahead(io.Reader) {}
