package supervise

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// A plugin starts no more processes than it may, but for root's, which is told.
func TestLimitOfProcesses(t *testing.T) {
	most := 150
	if !sandbox.Machine().Namespaces { // in which only its own count
		most += len(threadsOfTheUser())
	}
	p := add(t, supervisor(t), attacker(makePrey(t), sandbox.Spec{Limits: sandbox.Limits{Processes: most}}))
	out := mustCall(t, p, "run", "i=0; while [ $i -lt 500 ]; do sleep 100 >/dev/null 2>&1 & i=$((i+1)); done; echo all of them")
	told := slices.ContainsFunc(p.Status().Sandbox.Missing, func(m string) bool { return strings.HasPrefix(m, "the number of processes is not limited") })
	if limited := !strings.Contains(out, "all of them"); limited == told {
		t.Errorf("limited: %t, and yet told that it is not: %t; as user %d: %.200s", limited, told, os.Geteuid(), out)
	}
}

func threadsOfTheUser() []string {
	threads := must(filepath.Glob("/proc/[0-9]*/task/*"))
	return slices.DeleteFunc(threads, func(path string) bool {
		var st syscall.Stat_t
		return syscall.Stat(path, &st) != nil || int(st.Uid) != os.Geteuid()
	})
}
