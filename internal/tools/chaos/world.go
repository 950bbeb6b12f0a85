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

// The plugins of a world: victims are what is broken, the last of them within limits; the guest comes and goes, the
// bystander is left alone, the raw one never is a plugin.
const (
	victims   = 5
	guest     = "guest"
	bystander = "bystander"
	raw       = "raw"
)

// A world is one host with its plugins, and a folder that everything of it is in.
type world struct {
	dir        string
	mark       string // in the environment of all its processes
	ledger     string
	supervisor *supervise.Supervisor
	host       *host.Host
	policy     host.Policy
	reloads    sync.Mutex // held to change what the plugins are
}

// newWorld makes one below dir. No plugin runs yet.
func newWorld(dir, mark string) (w *world, err error) {
	w = &world{dir: dir, mark: mark, ledger: filepath.Join(dir, "ledger")}
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

func (w *world) plugins() map[string]host.Plugin {
	plugins := map[string]host.Plugin{}
	for _, p := range w.supervisor.Processes() {
		plugins[p.Name()] = p
	}
	return plugins
}

func (w *world) options() host.Options {
	return host.Options{Policy: w.policy, Workdir: w.dir, ResultDir: w.results()}
}

func (w *world) run() string     { return filepath.Join(w.dir, "r") }
func (w *world) temp() string    { return filepath.Join(w.dir, "tmp") }
func (w *world) results() string { return filepath.Join(w.dir, "results") }

// specs are those of the plugins.
func (w *world) specs() (out []supervise.Spec) {
	for i := range victims {
		out = append(out, w.spec(victimName(i), restarts(i)))
	}
	return append(out, w.spec(bystander, supervise.Restart{}), w.rawSpec("silent-socket"))
}

// patient restarts are quick and without end: quarantine would end the storm.
var patient = supervise.Restart{MaxCrashes: 1 << 30, Window: time.Hour, Backoff: time.Millisecond,
	BackoffMax: 20 * time.Millisecond}

// restarts are those of a victim. The last one has limits, and comes back when it is reset.
func restarts(victim int) supervise.Restart {
	if victim == victims-1 {
		return supervise.Restart{MaxCrashes: 2, Window: time.Minute, Backoff: 10 * time.Millisecond,
			BackoffMax: 50 * time.Millisecond}
	}
	return patient
}

// guestSpec is that of the plugin that comes and goes, and is given little time to end its calls.
func (w *world) guestSpec() supervise.Spec {
	s := w.spec(guest, patient)
	s.Eager, s.DrainTimeout = true, 100*time.Millisecond
	return s
}

func victimName(i int) string { return fmt.Sprintf("victim%d", i) }

func (w *world) spec(name string, r supervise.Restart) supervise.Spec {
	return supervise.Spec{Name: name, Command: []string{programPath()}, StartTimeout: slack, Restart: r,
		Sandbox: sandbox.Spec{Write: []string{w.dir}}, Source: "chaos",
		Env: map[string]string{envPart: "victim", envMark: w.mark, envLedger: w.ledger, "TMPDIR": w.temp()}}
}

// rawSpec is that of the plugin that is none, and follows a script instead.
func (w *world) rawSpec(script string) supervise.Spec {
	s := w.spec(raw, supervise.Restart{MaxCrashes: 1 << 30, Window: time.Hour, Backoff: time.Millisecond,
		BackoffMax: time.Millisecond})
	s.Env[envPart], s.Env[envScript] = "raw", script
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
func (w *world) close() error {
	if err := w.host.Close(); err != nil {
		return err
	}
	return w.supervisor.Close()
}
