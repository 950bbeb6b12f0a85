//go:build unix

package proctree

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/testutil"
)

// roleVar makes the test binary another program. The roles other than "host" are in the files of the tests that need
// them.
const roleVar = "PROCTREE_ROLE"

// namespaceVar makes the role "host" request a namespace.
const namespaceVar = "PROCTREE_NAMESPACE"

var roles = map[string]func(){"host": runAsHost}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		roles[role]()
		return
	}
	testutil.DefaultSignals()
	os.Exit(m.Run())
}

// runAsHost is a process that uses the package: it runs a shell script.
func runAsHost() {
	c := Command("sh", "-c", os.Args[1])
	c.Env = append(os.Environ(), roleVar+"=") // the script sets it again where it needs to
	c.Sandbox.Namespaces = os.Getenv(namespaceVar) != "" && Namespaces() == nil
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	exit, err := c.Run(context.Background())
	fmt.Println("host done:", exit, err)
}

// self is the path of the test binary, for scripts.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// patience is how long a test waits for an event that must come. Only a failing test waits that long: it allows for
// very busy machines.
const patience = time.Minute

// bounded is a context for one run. A test that reaches its end has failed.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	return ctx
}

// script returns a Cmd for a shell script that writes both outputs to one buffer.
func script(text string, args ...string) (*Cmd, *bytes.Buffer) {
	var out bytes.Buffer
	c := Command("sh", append([]string{"-c", text, "sh"}, args...)...)
	c.Stdout, c.Stderr = &out, &out
	return c, &out
}

// mustRun fails the test unless the program could be run to its end.
func mustRun(t *testing.T, c *Cmd) Exit {
	t.Helper()
	ctx := bounded(t)
	exit, err := c.Run(ctx)
	if err != nil || ctx.Err() != nil {
		t.Fatalf("Run: %v, %v (context: %v)", exit, err, ctx.Err())
	}
	return exit
}

// outcome is what Run returned, for those that start it in the background.
type outcome struct {
	exit Exit
	err  error
	done chan struct{}
}

func begin(ctx context.Context, c *Cmd) *outcome {
	o := &outcome{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.exit, o.err = c.Run(ctx)
	}()
	return o
}

// end returns what Run returned, and fails the test if that takes too long.
func (o *outcome) end(t *testing.T, limit time.Duration) (Exit, error) {
	t.Helper()
	if !within(o.done, limit) {
		t.Fatalf("Run has not returned after %v", limit)
	}
	return o.exit, o.err
}

// until polls a condition and fails the test if it does not become true in time.
func until(t *testing.T, limit time.Duration, what string, met func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); ; <-tick.C {
		late := time.Now().After(deadline) // read first: the test itself may be suspended
		if met() {
			return
		}
		if late {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// trigger is an output that calls do once, when the text has arrived.
type trigger struct {
	mu   sync.Mutex
	seen bytes.Buffer
	text string
	do   func()
	once sync.Once
}

func (o *trigger) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen.Write(b)
	if strings.Contains(o.seen.String(), o.text) {
		o.once.Do(o.do)
	}
	return len(b), nil
}

func (o *trigger) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen.String()
}

// unmarked drops the one variable that a program gets besides its own.
func unmarked(environ string) string {
	before, mark, found := strings.Cut(environ, "PROCTREE_ID=")
	if _, after, ended := strings.Cut(mark, "\n"); found && ended {
		return before + after
	}
	return environ
}
