package supervise

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin/runner"
)

// A runner is our process in the form that go-plugin wants (its RunnerFunc). go-plugin gets the handshake line, already
// checked, and nothing else: no pipes, no standard input, no say in how the process ends.
type runner struct {
	ctx        context.Context // ends when the start has taken too long
	spec       Spec
	supervisor *Supervisor
	log        *slog.Logger
	adopt      func(*child)

	env       []string
	socketDir string
	child     *child
	line      string // the handshake
	socket    string // that it names
}

func (r *runner) make(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (goplugin.Runner, error) {
	r.env, r.socketDir = cmd.Env, socketDir
	return r, nil
}

// Start launches the process and waits for its handshake.
func (r *runner) Start(context.Context) error {
	c, stdout, err := r.supervisor.launch(r.spec, environment(r.spec, r.env), r.log)
	if err != nil {
		return err
	}
	r.child = c
	r.adopt(c)
	defer context.AfterFunc(r.ctx, func() { _ = stdout.SetReadDeadline(time.Now()) })()
	in := bufio.NewReaderSize(stdout, maxHandshake)
	if r.line, err = readHandshake(in, r.socketDir); err != nil {
		go c.drain(stdout, in, io.Discard)
		return err
	}
	r.socket = strings.Split(r.line, "|")[3]
	go c.drain(stdout, in, newPump(r.log, "stdout", nil))
	return nil
}

// Stdout gives the handshake line.
func (r *runner) Stdout() io.ReadCloser { return io.NopCloser(strings.NewReader(r.line + "\n")) }

// Stderr gives nothing.
func (r *runner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Wait returns when the process has ended.
func (r *runner) Wait(context.Context) error {
	<-r.child.exited
	return nil
}

// Kill ends the process.
func (r *runner) Kill(context.Context) error {
	if r.child != nil {
		r.child.kill()
	}
	return nil
}

// Name and ID name the plugin.
func (r *runner) Name() string { return r.spec.Name }

// ID is never empty: go-plugin cleans up only what has one.
func (r *runner) ID() string { return r.spec.Name }

// Diagnose has nothing to add.
func (r *runner) Diagnose(context.Context) string { return "" }

// PluginToHost and HostToPlugin: the plugin sees the same files.
func (r *runner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin is the other way round.
func (r *runner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

var _ goplugin.Runner = (*runner)(nil)

// drain reads what is left of a stream until it ends, so that the plugin never waits for a reader.
func (c *child) drain(f *os.File, in io.Reader, to io.Writer) {
	defer c.readers.Done()
	_, _ = io.Copy(to, in)        // ends with the process
	_, _ = to.Write([]byte("\n")) // a last line may lack its end
	_ = f.Close()
}
