package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped drops what was typed before the question could be read.
func forgetTyped(from io.Reader) {
	if f, ok := from.(*os.File); ok {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // no terminal, nothing typed
	}
}
