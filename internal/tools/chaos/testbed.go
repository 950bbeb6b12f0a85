//go:build linux

package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// The plugins of a testbed: victims get the faults, the last of them with restart limits; transient is added and
// removed, control gets no faults, raw is a program that is no plugin.
const (
	victims   = 5
	transient = "transient"
	control   = "control"
	raw       = "raw"
)

// A testbed is one host with its plugins and a folder of its own.
type testbed struct {
	dir        string
	mark       string // in the environment of all its processes
	ledger     string
	supervisor *supervise.Supervisor
	host       *host.Host
	policy     host.Policy
	reloads    sync.Mutex // held to change what the plugins are
}

// newTestbed makes one below dir. No plugin runs yet.
func newTestbed(dir, mark string) (w *testbed, err error) {
	w = &testbed{dir: dir, mark: mark, ledger: filepath.Join(dir, "ledger")}
	for _, sub := range []string{w.run(), w.temp(), w.results()} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(w.ledger, nil, 0o600); err != nil {
		return nil, err
	}
	if w.supervisor, err = supervise.New(supervise.Options{RunDir: w.run(), Workdir: dir,
		Logger: slog.New(slog.DiscardHandler)}); err != nil {
		return nil, err
	}
	for _, spec := range w.specs() {
		if _, err := w.supervisor.Add(spec); err != nil {
			return nil, err
		}
	}
	if w.policy, err = policyOf(policy.Allow); err != nil {
		return nil, err
	}
	w.host, err = host.New(w.plugins(), w.options())
	return w, err
}

// policyOf has one rule for everything.
func policyOf(e policy.Effect) (host.Policy, error) {
	return policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "everything", Effect: e}}})
}

func (w *testbed) plugins() map[string]host.Plugin {
	plugins := map[string]host.Plugin{}
	for _, p := range w.supervisor.Processes() {
		plugins[p.Name()] = p
	}
	return plugins
}

func (w *testbed) options() host.Options {
	return host.Options{Policy: w.policy, Workdir: w.dir, ResultDir: w.results()}
}

func (w *testbed) run() string     { return filepath.Join(w.dir, "r") }
func (w *testbed) temp() string    { return filepath.Join(w.dir, "tmp") }
func (w *testbed) results() string { return filepath.Join(w.dir, "results") }

// specs are those of the plugins.
func (w *testbed) specs() (out []supervise.Spec) {
	for i := range victims {
		out = append(out, w.spec(victimName(i), restarts(i)))
	}
	return append(out, w.spec(control, supervise.Restart{}), w.rawSpec("silent-socket"))
}

// unlimited restarts are fast and without end: quarantine would end the load.
var unlimited = supervise.Restart{MaxCrashes: 1 << 30, Window: time.Hour, Backoff: time.Millisecond,
	BackoffMax: 20 * time.Millisecond}

// restarts are those of a victim. The last one has limits, and restarts when it is reset.
func restarts(victim int) supervise.Restart {
	if victim == victims-1 {
		return supervise.Restart{MaxCrashes: 2, Window: time.Minute, Backoff: 10 * time.Millisecond,
			BackoffMax: 50 * time.Millisecond}
	}
	return unlimited
}

// transientSpec is of the plugin that is added and removed; its calls have little time to end.
func (w *testbed) transientSpec() supervise.Spec {
	s := w.spec(transient, unlimited)
	s.Eager, s.DrainTimeout = true, 100*time.Millisecond
	return s
}

func victimName(i int) string { return fmt.Sprintf("victim%d", i) }

func (w *testbed) spec(name string, r supervise.Restart) supervise.Spec {
	return supervise.Spec{Name: name, Command: []string{programPath()}, StartTimeout: grace, Restart: r,
		Sandbox: sandbox.Spec{Write: []string{w.dir}}, Source: "chaos",
		Env: map[string]string{envRole: "victim", envMark: w.mark, envLedger: w.ledger, "TMPDIR": w.temp()}}
}

// rawSpec is of the program that is no plugin, and runs a script.
func (w *testbed) rawSpec(script string) supervise.Spec {
	s := w.spec(raw, supervise.Restart{MaxCrashes: 1 << 30, Window: time.Hour, Backoff: time.Millisecond,
		BackoffMax: time.Millisecond})
	s.Env[envRole], s.Env[envScript] = "raw", script
	s.StartTimeout = 300 * time.Millisecond
	return s
}

// programPath is this program.
func programPath() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// close ends the host and everything it started.
func (w *testbed) close() error {
	if err := w.host.Close(); err != nil {
		return err
	}
	return w.supervisor.Close()
}
