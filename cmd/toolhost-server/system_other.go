//go:build !unix

package main

import (
	"context"
	"errors"
	"os"
)

// inherit returns nil: on this system nothing is handed over.
func inherit() (*inherited, error) { return nil, nil }

// A starter is the process that has started this one: on this system it finds out by itself.
type starter struct{}

func openStarter() *starter { return &starter{} }

func (*starter) failed(error) {}

func (*program) ready() {}

func (*program) upgrade(context.Context) (int, error) {
	return 0, errors.New("on this system sockets cannot be handed over; stop the host, and start it again")
}

func openSignals() <-chan os.Signal { return nil }

func endsWithTerminal() bool { return false }

// signals does nothing: on this system no signal asks for anything but the end.
func (*program) signals(context.Context) {}
