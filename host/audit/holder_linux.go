package audit

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// holder names the process that has the file locked, or returns "". See
// https://man7.org/linux/man-pages/man5/proc_locks.5.html.
func holder(f *os.File) string {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return ""
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	locks, _ := os.ReadFile("/proc/locks")
	for line := range bytes.Lines(locks) {
		// 1: FLOCK ADVISORY WRITE 708 00:13:11 0 EOF
		if l := strings.Fields(string(line)); len(l) > 5 && l[1] == "FLOCK" && l[5] == file {
			name, _ := os.ReadFile("/proc/" + l[4] + "/comm")
			return fmt.Sprintf(", process %s (%q)", l[4], bytes.TrimSpace(name))
		}
	}
	return ""
}
