package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

func init() { plays["poor"] = playPoor }

// playPoor is a host that makes one call, and tells its answer or what kept it from one.
func playPoor() {
	s, err := New(Options{RunDir: os.Getenv("RUN")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := must(s.Add(playing("good", "good"))).Call(ctx, request("echo", "it worked"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Content[0].Text)
}

// A host that may open too few files says so, ends, and leaves nothing that the next one does not remove.
func TestTooFewFiles(t *testing.T) {
	t.Parallel()
	run, outputs := shortDir(t), ""
	for files := 12; files <= 60; files += 4 {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", fmt.Sprintf("ulimit -n %d; exec %s", files, os.Args[0]))
		cmd.Env = append(os.Environ(), "PLAY=poor", "RUN="+run)
		cmd.WaitDelay = time.Second
		out, err := cmd.CombinedOutput()
		cancel()
		outputs += fmt.Sprintf("%d files: %s", files, out)
		if text := string(out); err != nil || !strings.Contains(text, "too many open files") && !strings.Contains(text, "raise the limit (ulimit -n)") && text != "it worked\n" {
			t.Errorf("with %d files: %v, %s", files, err, out)
		}
	}
	for _, words := range []string{"raise the limit (ulimit -n)", ": it worked\n"} {
		if !strings.Contains(outputs, words) {
			t.Errorf("nowhere %q:\n%s", words, outputs)
		}
	}
	check(t, must(makeRunDir(run)).remove())
	if left := must(os.ReadDir(run)); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// What the machine has against a start is told with what can be done.
func TestStartProblems(t *testing.T) {
	for why, words := range map[error]string{
		syscall.EMFILE:  "too many open files; close some, or raise the limit (ulimit -n)",
		syscall.ENFILE:  "too many open files; close some, or raise the limit (ulimit -n)",
		syscall.EAGAIN:  "its user has too many processes; end some, or raise the limit (ulimit -u)",
		syscall.ETXTBSY: "something still writes to it; try again when it is complete",
	} {
		err := startProblem(Spec{Command: []string{"./p"}}, fmt.Errorf("start the launcher: %w", &os.PathError{Op: "fork/exec", Path: "p", Err: why}))
		if want := "./p cannot be run: " + words; err.Error() != want {
			t.Errorf("%v: %v", why, err)
		}
	}
}

// A folder that cannot be made is told with what names another, and is not left half made.
func TestNoPrivateFolder(t *testing.T) {
	file := filepath.Join(shortDir(t), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("TMPDIR", filepath.Join(file, "no"))
	t.Setenv("XDG_RUNTIME_DIR", "")
	_, err := New(Options{})
	if err == nil || !strings.Contains(err.Error(), "TMPDIR can name another place") {
		t.Errorf("got %v", err)
	}
}

// Who gets no answer from a plugin that is down hears what can be done.
func TestRefusalsAdvise(t *testing.T) {
	t.Parallel()
	wrong, ends := playing("x", "good"), playing("x", "exits")
	wrong.SHA256 = strings.Repeat("0", 64)
	ends.Restart = Restart{MaxCrashes: 9, Backoff: time.Hour, BackoffMax: time.Hour}
	const mend = "do without its tools, or have the user mend it."
	for name, c := range map[string]struct {
		spec Spec
		want []string // of one call after the other
	}{
		"invalid": {wrong, []string{"D" + mend[1:], "D" + mend[1:]}},
		"ends":    {ends, []string{"Try again once; then " + mend, "Try again once; then " + mend, "Try again in "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := add(t, supervisor(t), c.spec)
			for i, want := range c.want {
				_, err := call(t, p, "echo", "")
				if e, ok := errors.AsType[*sdk.Error](err); !ok || !strings.HasPrefix(e.Suggestion, want) {
					t.Errorf("call %d is told %+v, want %q", i+1, err, want)
				}
			}
		})
	}
}
