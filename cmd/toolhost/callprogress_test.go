//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

// An outputBuffer collects the output of a terminal.
type outputBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *outputBuffer) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *outputBuffer) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Contains(h.text.String(), text)
}

// A long command shows its output, which is kept when it is interrupted.
func TestInterruptKeepsWhatWasPrinted(t *testing.T) {
	screen, tty, err := pty.Open()
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	defer func() { _ = screen.Close() }()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.hcl")
	writeConfig(t, config, fmt.Sprintf("plugin \"shell\" {\n  command = [%q]\n}\n",
		filepath.Join(bin, "toolhost-plugin-shell")))
	cmd := exec.Command(filepath.Join(bin, "toolhost"), "--config", config, "--workdir", dir, "call", "shell__exec",
		"--approve", "always",
		"command=for i in $(seq 12); do echo line $i; done; sleep 600")
	var answer bytes.Buffer
	cmd.Stdout, cmd.Stderr = &answer, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	seen := &outputBuffer{}
	go func() { _, _ = io.Copy(seen, screen) }()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for deadline := time.Now().Add(time.Minute); !seen.has("line 12"); {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v\n%s", err, seen.text.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatalf("nothing of it is shown: %s", seen.text.String())
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("the exit code is %d", code)
	}
	var want strings.Builder
	for i := range 12 {
		fmt.Fprintf(&want, "line %d\n", i+1)
	}
	if diff := cmp.Diff(want.String(), answer.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLastLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":                          {},
		"a\n\nb\r\nc":               {"b", "c"},
		" 10%\r 20%\r 30%":          {" 30%"},
		"one\ntwo\n 1%\r 2%\r\nend": {" 2%", "end"},
	} {
		if diff := cmp.Diff(want, append([]string{}, lastLines(text, 2)...)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// Of endless output the last part is kept.
func TestPrintedIsBounded(t *testing.T) {
	w := (&options{terminal: &terminal{}}).eventPrinter(callFlags{})
	line := strings.Repeat("x", 1023) + "\n"
	for range 4 * maxPrints / len(line) {
		w.event(sdk.Event{Type: sdk.EventOutput, Data: []byte(line)})
	}
	w.event(sdk.Event{Type: sdk.EventOutput, Data: []byte("end\xff")})
	text := w.printed()
	if len(text) > 2*maxPrints || !strings.HasPrefix(text, "[... what was printed before is left out ...]\nxxx") ||
		!strings.HasSuffix(text, "\nend\uFFFD") {
		t.Errorf("%d bytes are kept: %.60q … %q", len(text), text, text[len(text)-10:])
	}
}
