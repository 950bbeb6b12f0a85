//go:build unix

package main

import "golang.org/x/sys/unix"

// mayWrite reports whether this user may write to a file or folder.
func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }
