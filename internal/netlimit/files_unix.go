//go:build unix

package netlimit

import "syscall"

// Connections is most, or a quarter of the files that this process may have open where that is less: plugins and files
// need the others, and a server has two listeners.
func Connections(most int) int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur/4 > uint64(most) {
		return most
	}
	return int(files.Cur / 4)
}
