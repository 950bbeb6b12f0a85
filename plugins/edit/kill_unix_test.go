//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

const lines = 5000

var killed = []string{"a", "b", "c"}

// version is the content of the files at one time; each line names it.
func version(i int) string { return strings.Repeat(fmt.Sprintf("version %06d\n", i), lines) }

// A process that is killed while it writes leaves each file as it was before a call or after it, and never half of it.
func TestKilledWhileWriting(t *testing.T) {
	if dir := os.Getenv("EDIT_UNTIL_KILLED"); dir != "" {
		editUntilKilled(t, dir)
		return
	}
	dir := t.TempDir()
	for _, name := range killed {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(version(0)), 0o644))
	}
	for round := range 8 {
		killAfter(t, dir, round/2)
		for _, name := range killed {
			data, err := os.ReadFile(filepath.Join(dir, name))
			check(t, err)
			first, _, _ := strings.Cut(string(data), "\n")
			if string(data) != strings.Repeat(first+"\n", lines) {
				t.Fatalf("round %d: %s has %d bytes, not one whole version", round, name, len(data))
			}
			check(t, os.WriteFile(filepath.Join(dir, name), []byte(version(0)), 0o644))
		}
	}
}

// killAfter runs a child that edits, and kills it when it has reported some calls and is in the next.
func killAfter(t *testing.T, dir string, calls int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWhileWriting$")
	cmd.Env = append(os.Environ(), "EDIT_UNTIL_KILLED="+dir)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	printed := bufio.NewScanner(out)
	seen := 0
	for seen <= calls && printed.Scan() {
		if strings.HasPrefix(printed.Text(), "edited ") {
			seen++
		}
	}
	check(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait() // killed
	if seen <= calls {
		t.Fatalf("the child ended after %d calls", seen)
	}
}

// editUntilKilled is the child. It writes the files by turns with multi and with write.
func editUntilKilled(t *testing.T, dir string) {
	e := new(editor)
	fmt.Println("edited nothing yet")
	for i := 0; ; i++ {
		var in planner = multiInput{Edits: replacing(i)}
		if i%3 == 2 {
			in = writeInput{Path: killed[0], Content: version(i + 1), Overwrite: true}
		}
		if _, err := e.perform(t.Context(), &sdk.Request{Workdir: dir, Tool: "x"}, in, true); err != nil {
			fmt.Println("failed", err)
			return
		}
		if i%3 == 2 { // all files are at one version again
			for _, name := range killed[1:] {
				if _, err := e.perform(t.Context(), &sdk.Request{Workdir: dir, Tool: "x"}, writeInput{Path: name,
					Content: version(i + 1), Overwrite: true}, true); err != nil {
					fmt.Println("failed", err)
					return
				}
			}
		}
		fmt.Println("edited", i)
	}
}

func replacing(i int) (out []multiEdit) {
	for _, name := range killed {
		out = append(out, multiEdit{Path: name, OldString: fmt.Sprintf("version %06d", i),
			NewString: fmt.Sprintf("version %06d", i+1), ReplaceAll: true})
	}
	return out
}
