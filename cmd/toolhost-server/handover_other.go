//go:build !unix

package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
)

// inherited is what an earlier host has handed over: nothing on this system.
type inherited struct {
	lock         *os.File
	listeners    []net.Listener
	files        []fs.FileInfo
	predecessors []string
}

func inherit() (*inherited, error) { return nil, nil }

// A starter is the process that has started this one: on this system it finds out by itself.
type starter struct{}

func openStarter() *starter { return &starter{} }

func (*starter) failed(error) {}

func (*program) ready() {}

func (*program) upgrade(context.Context) (int, error) {
	return 0, errors.New("on this system sockets cannot be handed over; stop the host, and start it again")
}
