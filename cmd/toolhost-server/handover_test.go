//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// ownPrograms gives the home its own folder of programs, so that a test can replace them.
func (h *home) ownPrograms(t *testing.T) *home {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(programs, "*"))
	if err != nil {
		t.Fatal(err)
	}
	h.bin = filepath.Join(h.dir, "bin")
	if err := os.Mkdir(h.bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, from := range all {
		if err := os.Link(from, filepath.Join(h.bin, filepath.Base(from))); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// install replaces the server by a script. The server is beside it as "real".
func (h *home) install(t *testing.T, script string) {
	t.Helper()
	name := filepath.Join(h.bin, "toolhost-server")
	if err := os.Link(name, filepath.Join(h.bin, "real")); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".new", []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// A host whose upgrade failed serves on, and stops like any other.
func TestStopAfterAFailedUpgrade(t *testing.T) {
	for name, stop := range map[string]func(*home, int){
		"stop":   func(h *home, _ int) { expect(t, h.run(t, "serve", "--stop"), "stops", "\n0") },
		"signal": func(_ *home, pid int) { _ = syscall.Kill(pid, syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t).ownPrograms(t).withPlugin(t, "")
			url, _, ended := h.serving(t)
			pid := h.process(t)
			h.install(t, "exit 3")
			expect(t, h.run(t, "serve", "--upgrade"), "This host keeps running")
			for range 3 { // also where a connection is accepted after the failure
				expect(t, h.run(t, "call", "readfile__read", "path=note.txt"), "a note", "\n0")
				healthy(t, url)
			}
			stop(h, pid)
			waitFor(t, ended)
		})
	}
}

// A failed upgrade says why, in the words of the program that did not serve, or how it ended.
func TestFailedUpgradeSaysWhy(t *testing.T) {
	h := newHome(t).ownPrograms(t).withPlugin(t, "")
	_, _, ended := h.serving(t)
	h.write(t, "config.hcl", "colour = 3\n")
	expect(t, h.run(t, "serve", "--upgrade"), "toolhost-server, the program that is installed now, does not serve: ",
		"config.hcl:1", `"colour"`, "This host keeps running", "\n4")
	h.withPlugin(t, "")
	h.install(t, `exec "${0%/*}/real" --unknown`)
	expect(t, h.run(t, "serve", "--upgrade"), "unknown flag: --unknown", "\n4")
	h.install(t, "exit 3")
	expect(t, h.run(t, "serve", "--upgrade"), "ended before it served (exit status 3)", "\n4")
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
}

// A successor that finds another configuration than the host serves would serve its clients without its rules.
func TestUpgradeFindsAnotherConfiguration(t *testing.T) {
	h := newHome(t).withPlugin(t, "")
	expect(t, h.run(t, "trust"), "\n0")
	log := &logBuffer{}
	h.log = log
	_, _, ended := h.servedBy(t, h.command(t, "serve", "--address", "127.0.0.1:0"))
	pid := h.process(t)
	file, away := filepath.Join(h.dir, "config.hcl"), filepath.Join(h.dir, "away.hcl")
	users := filepath.Join(h.dir, "toolhost", "config.hcl") // beside the runtime files
	for _, c := range []struct{ found, want string }{{"", "there is no configuration any more"}, {users, users}} {
		if err := os.Rename(file, away); err != nil {
			t.Fatal(err)
		}
		if c.found != "" {
			h.write(t, filepath.Join("toolhost", "config.hcl"), fmt.Sprintf("plugin_dirs = [%q]\n", h.bin))
			expect(t, h.run(t, "--config", c.found, "trust"), "\n0")
		}
		if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the log does not say "+c.want, func() bool { return strings.Contains(log.String(), c.want) })
		if err := os.Rename(away, file); err != nil {
			t.Fatal(err)
		}
		if now := h.process(t); now != pid {
			t.Errorf("process %d serves, want %d", now, pid)
		}
	}
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
}

// After a failed upgrade commands find the host that goes on, whatever the successor has done before it failed.
func TestFailedUpgradeKeepsThePlace(t *testing.T) {
	h := newHome(t).ownPrograms(t).withPlugin(t, "")
	_, _, ended := h.serving(t)
	running := fmt.Sprintf("is running already, process %d;", h.process(t))
	h.withPlugin(t, "serve {\n  tls_cert = \"none\"\n  tls_key  = \"none\"\n}\n") // which is read once the lock is taken over
	expect(t, h.run(t, "serve", "--upgrade"), "tls_cert", "This host keeps running", "\n4")
	expect(t, h.run(t, "serve"), running, "\n1")
	h.withPlugin(t, "")
	h.install(t, `[ "$TOOLHOST_INHERIT" ] || exec "${0%/*}/real" "$@"`+"\n"+
		`printf '%31s\n' >&3; exit 3`) // it writes into the lock that its host has ended
	expect(t, h.run(t, "serve", "--upgrade"), "exit status 3", "\n4")
	expect(t, h.run(t, "serve"), running, "\n1")
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
}

// A reload is logged, and what it changes of the serve block and cannot use; GetInfo has that too.
func TestChangesOfTheServeBlock(t *testing.T) {
	h := newHome(t).withPlugin(t, "")
	log := &logBuffer{}
	h.log = log
	url, token, ended := h.serving(t)
	info := func() string {
		var text json.RawMessage
		if err := api(http.DefaultClient, url, token, "HostService/GetInfo", "{}", &text); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range []struct{ block, want string }{
		{"hosts = [\"example.org\"]", "the serve block has changed: hosts. Fix: toolhost serve --upgrade"},
		{"socket = \"other.sock\"\n  hosts = [\"example.org\"]",
			"the serve block has changed: socket, hosts. Fix: toolhost serve --stop"},
	} {
		h.withPlugin(t, "serve {\n  "+c.block+"\n}\n")
		eventually(t, "GetInfo does not say "+c.want, func() bool { return strings.Contains(info(), c.want) })
		eventually(t, "the log does not say "+c.want, func() bool { return strings.Contains(log.String(), c.want) })
	}
	eventually(t, "the log does not say that it was reloaded",
		func() bool { return strings.Contains(log.String(), "configuration reloaded") })
	h.withPlugin(t, "")
	eventually(t, "GetInfo still tells of changes", func() bool { return !strings.Contains(info(), "has changed") })
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
}

// A logBuffer keeps a log, or the output of a command, that a test reads while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// healthy makes a request on a connection of its own.
func healthy(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("/healthz: %s", answer.Status)
	}
}

// A host that has handed over ends, also if its listeners have accepted while the successor started, and none comes
// after that.
func TestUpgradeToASlowProgram(t *testing.T) {
	h := newHome(t).ownPrograms(t).withPlugin(t, "")
	url, _, ended := h.serving(t)
	h.install(t, `touch begun; until [ -e go ]; do sleep 0.1; done; exec "${0%/*}/real" "$@"`)
	upgraded := make(chan string, 1)
	go func() { upgraded <- h.run(t, "serve", "--upgrade") }()
	h.begun(t, "the successor does not start")
	healthy(t, url)
	h.write(t, "go", "")
	select {
	case said := <-upgraded:
		expect(t, said, "serves in place of", "\n0")
	case <-time.After(patience):
		t.Fatal("the upgrade does not end")
	}
	waitFor(t, ended)
	healthy(t, url)
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	h.awaitNone(t)
}

// An upgrade that waited for another one says what has happened.
func TestUpgradeOfAReplacedHost(t *testing.T) {
	p := &program{place: &hostPlace{}}
	p.place.successor.Store(7)
	_, err := p.upgrade(t.Context())
	if fail, is := errors.AsType[*connect.Error](err); !is || len(fail.Details()) == 0 ||
		!strings.Contains(fail.Message(), "process 7 has taken over") {
		t.Errorf("upgrade: %v", err)
	}
}

// A host that could not open the index when it started keeps the record all the same, which commands read then.
func TestHistoryThatIsNotServed(t *testing.T) {
	h := newHome(t).withPlugin(t, "audit {\n  path = \"audit.jsonl\"\n}\n")
	inTheWay := filepath.Join(h.dir, "audit.jsonl.index", "folder")
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	h.log = log
	_, _, ended := h.serving(t)
	expect(t, log.String(), "the history is not served", "serve --upgrade")
	expect(t, h.run(t, "call", "--verbose", "no__tool"), "the running host", "\n2")
	expect(t, h.run(t, "history", "search"), "has no history, and its log says why", "audit.jsonl.index", "\n1")
	if err := os.RemoveAll(filepath.Dir(inTheWay)); err != nil {
		t.Fatal(err)
	}
	expect(t, h.run(t, "history", "search"), "has no history, and its log says why", "no__tool", "\n0")
	h.withPlugin(t, "")
	expect(t, h.run(t, "history", "search"), "the running host keeps no record", "\n2")
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
}

// A second signal ends a host that waits for its calls.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	h := newHome(t).withPlugin(t, allowShell)
	_, _, ended := h.serving(t, "--drain", "1h")
	pid := h.process(t)
	call := h.call(t, "touch begun; sleep 600")
	if err := call.Start(); err != nil {
		t.Fatal(err)
	}
	h.begun(t, "the call does not run")
	socket := h.socket(t)
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	refuses(t, socket)
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended: // by the signal
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	_ = call.Wait() // its host was lost
}

// A host that waits for its calls is not ended by signals that ask a running one for something.
func TestSignalsWhileTheHostStops(t *testing.T) {
	h := newHome(t).withPlugin(t, allowShell)
	log := &logBuffer{}
	h.log = log
	_, _, ended := h.serving(t, "--drain", "1h")
	pid := h.process(t)
	call := make(chan string, 1)
	go func() {
		call <- h.run(t, "call", "shell__exec", "command=touch begun; until [ -e go ]; do sleep 0.1; done; echo fine")
	}()
	h.begun(t, "the call does not run")
	socket := h.socket(t)
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	refuses(t, socket)
	for name, s := range map[string]syscall.Signal{"hangup": syscall.SIGHUP, "user defined signal 2": syscall.SIGUSR2} {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" is not received", func() bool { return strings.Contains(log.String(), name) })
	}
	h.write(t, "go", "")
	expect(t, <-call, "fine", "\n0")
	waitFor(t, ended)
}

// A signal that comes while a host starts is not lost, and does not end it. It is the discovery command that sends it.
func TestSignalWhileTheHostStarts(t *testing.T) {
	h := newHome(t).withPlugin(t, `plugin_discovery "team" {
  command = ["sh", "-c", "[ -e begun ] || { touch begun; kill -HUP $(cut -d ' ' -f 1 toolhost/*.lock); }; echo '[]'"]
}
`)
	log := &logBuffer{}
	h.log = log
	_, _, ended := h.serving(t)
	eventually(t, "it is not reloaded", func() bool { return strings.Contains(log.String(), "configuration reloaded") })
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
}

// A stop without time for the calls ends them at once, whatever the host was started with.
func TestStopWithoutDrain(t *testing.T) {
	h := newHome(t).withPlugin(t, allowShell)
	_, _, ended := h.serving(t, "--drain", "1h")
	call := h.call(t, "touch begun; sleep 600")
	if err := call.Start(); err != nil {
		t.Fatal(err)
	}
	h.begun(t, "the call does not run")
	expect(t, h.run(t, "serve", "--stop", "--drain", "0s"), "1 call runs", "\n0")
	waitFor(t, ended)
	_ = call.Wait() // it was canceled
}
