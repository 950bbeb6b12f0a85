//go:build unix

package removal

import "syscall"

// itself opens a folder, and nothing that was put in its place.
const itself = syscall.O_DIRECTORY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
