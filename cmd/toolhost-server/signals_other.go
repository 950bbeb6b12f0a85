//go:build !unix

package main

import (
	"context"
	"os"
)

func openSignals() <-chan os.Signal { return nil }

func endsWithTerminal() bool { return false }

// signals does nothing: on this system no signal asks for anything but the end.
func (*program) signals(context.Context) {}
