package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// discardTypeahead drops input that was typed before the question.
func discardTypeahead(from io.Reader) {
	if f, ok := from.(*os.File); ok {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // without a terminal there is none
	}
}
