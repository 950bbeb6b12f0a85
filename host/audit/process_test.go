package audit

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Writers are this test's program, started again with this variable: what to do, and the log's path.
const roleVariable = "AUDIT_TEST_ROLE"

func TestMain(m *testing.M) {
	play, path, ok := strings.Cut(os.Getenv(roleVariable), ":")
	if !ok {
		os.Exit(m.Run())
	}
	if err := roles[play](path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var roles = map[string]func(path string) error{
	"write": writeMany,
	"full":  writeUntilFull,
}

const writers, each = 4, 200

// writeMany reopens the log for some records, as commands do, and keeps it open for the others, as hosts do.
func writeMany(path string) error {
	l, err := Open(path, Options{})
	for i := 0; i < each && err == nil; i++ {
		if i%20 == 0 {
			l.Close()
			if l, err = Open(path, Options{}); err != nil {
				return err
			}
		}
		err = l.Append(call(i))
	}
	return err
}

// writeUntilFull writes until no more fits, and prints how many records were accepted.
func writeUntilFull(path string) error {
	signal.Ignore(unix.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4000, Max: 4000}); err != nil {
		return err
	}
	l, err := Open(path, Options{})
	if err != nil {
		return err
	}
	accepted := 0
	for range 100 {
		if l.Append(call(accepted+1)) == nil {
			accepted++
		}
	}
	fmt.Print(accepted)
	return nil
}

func runRole(t *testing.T, what, path string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+what+":"+path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return string(out)
}

func TestProcesses(t *testing.T) {
	path := logPath(t)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() { runRole(t, "write", path) })
	}
	all.Wait()
	checkWhole(t, path, writers*each)
}

// A write that is cut short is taken back: what was accepted is there, and nothing else.
func TestDiskFull(t *testing.T) {
	path := logPath(t)
	accepted, err := strconv.Atoi(runRole(t, "full", path))
	if err != nil || accepted < 2 || accepted > 50 {
		t.Fatalf("%d records were accepted, %v", accepted, err)
	}
	checkWhole(t, path, accepted)
	if text := read(t, path); !strings.HasSuffix(text, "\n") {
		t.Errorf("a part of a line was left: %q", text[strings.LastIndex(text, "\n"):])
	}
	add(t, openLog(t, path, Options{}), call(accepted+1))
	checkWhole(t, path, accepted+1)
}
