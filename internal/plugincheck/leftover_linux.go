package plugincheck

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// leftBehind are the processes of a plugin, and those that it has started, also those that left its process group: they
// are known by its socket folder in their environment.
func leftBehind(dir string) (out []*os.Process) {
	mark := []byte("\x00" + socketDir(dir) + "\x00")
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		p, err := os.FindProcess(pid) // before the look at it, so that the id cannot come to mean another
		if err != nil {
			continue
		}
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // others' cannot be read
		if bytes.Contains(append([]byte{0}, environ...), mark) {
			out = append(out, p)
		} else {
			_ = p.Release()
		}
	}
	return out
}
