//go:build !unix

package proctree

import (
	"io"
	"os"
)

// A lane is one of two pipes.
type lane struct {
	name string
	pipe *os.File
	to   io.Writer
}

// inOrder gives two copies that are to run at the same time. Their order is that in which the system wakes them.
func inOrder(stdout, stderr *lane) ([]func() error, error) {
	return []func() error{
		func() error { return copied(stdout.name, stdout.pipe, stdout.to, stdout.pipe) },
		func() error { return copied(stderr.name, stderr.pipe, stderr.to, stderr.pipe) },
	}, nil
}
