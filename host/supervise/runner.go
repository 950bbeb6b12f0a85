package supervise

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin/runner"

	"github.com/toolhost/toolhost/host/supervise/internal/removal"
	"github.com/toolhost/toolhost/host/supervise/internal/stage"
	"github.com/toolhost/toolhost/sdk"
)

// A runner is our process in the form that go-plugin wants (its RunnerFunc). go-plugin gets the handshake line, already
// checked, and nothing else: no pipes, no standard input, no say in how the process ends.
type runner struct {
	ctx        context.Context // ends when the start has taken too long
	spec       Spec
	program    string // the file to run
	supervisor *Supervisor
	log        *slog.Logger
	staged     func(stage.Stage)
	adopt      func(*child)

	env       []string
	token     string // what the plugin knows us by
	socketDir string
	child     *child
	line      string // the handshake
	socket    string // that it names
}

func (r *runner) make(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (goplugin.Runner, error) {
	r.token = rand.Text()
	r.env, r.socketDir = slices.Concat(cmd.Env, []string{sdk.EnvToken + "=" + r.token}), socketDir
	return r, nil
}

// Start launches the process and waits for its handshake.
func (r *runner) Start(context.Context) error {
	c, stdout, err := r.launch()
	if err != nil {
		return err
	}
	r.child = c
	r.adopt(c)
	defer context.AfterFunc(r.ctx, func() { _ = stdout.SetReadDeadline(time.Now()) })()
	in := bufio.NewReaderSize(&lastWords{from: stdout}, maxHandshake)
	if r.line, err = readHandshake(in, r.socketDir); err != nil {
		go c.drain(stdout, in, io.Discard)
		return err
	}
	r.socket = strings.Split(r.line, "|")[3]
	go c.drain(stdout, in, newPump(r.log, "stdout", nil).hiding(r.spec.References))
	return nil
}

// launch starts the process with a folder of its own for temporary files.
func (r *runner) launch() (*child, *os.File, error) {
	temp, err := r.supervisor.temps.temp()
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for its temporary files: %w", err)
	}
	before := r.supervisor.machine()
	c, stdout, err := r.launchIn(temp)
	refused := err != nil && r.supervisor.machine() != before // it was found out that the machine can do less
	if refused || moved(err) {
		c, stdout, err = r.launchIn(temp)
	}
	if err != nil {
		_ = removal.All(temp, removalTime) // it may have run for a moment
	}
	return c, stdout, err
}

// moved says whether what was to be kept from the plugin has gone, or become a link, since it was looked at.
func moved(err error) bool {
	return !isInvalid(err) && (errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ELOOP))
}

func (r *runner) launchIn(temp string) (*child, *os.File, error) {
	how, err := r.supervisor.stage(r.spec, r.program, stage.Folders{Temp: temp, Socket: r.socketDir}, environment(r.spec, temp, r.env), r.supervisor.programs)
	if err != nil {
		return nil, nil, err
	}
	r.staged(how)
	c, stdout, err := r.supervisor.launch(r.ctx, r.spec, how, r.log)
	if err != nil {
		how.Release()
		return nil, nil, err
	}
	r.supervisor.warnOfLess(r.spec.Name, how.Confinement)
	return c, stdout, nil
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
