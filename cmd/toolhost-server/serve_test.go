package main

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// patience is how long a test waits for what should be there soon.
const patience = time.Minute

// withPlugin adds the plugin readfile, and a configuration that leads to it.
func (h *home) withPlugin(t *testing.T, config string) *home {
	t.Helper()
	h.write(t, "config.hcl", fmt.Sprintf("plugin_dirs = [%q]\n%s", h.bin, config))
	h.write(t, "note.txt", "a note\n")
	return h
}

// serving starts toolhost serve, and returns the URL with its token once it serves, and what waits for its end.
func (h *home) serving(t *testing.T, more ...string) (url, token string, ended <-chan error) {
	t.Helper()
	return h.servedBy(t, h.command(t, append([]string{"--config", filepath.Join(h.dir, "config.hcl"), "serve", "--address",
		"127.0.0.1:0"}, more...)...))
}

// servedBy is serving, by a command.
func (h *home) servedBy(t *testing.T, cmd *exec.Cmd) (url, token string, ended <-chan error) {
	t.Helper()
	cmd.Stderr = h.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	t.Cleanup(func() { // it has ended, unless the test failed
		_ = cmd.Process.Kill()
		if t.Failed() {
			h.run(t, "serve", "--stop", "--drain", "1ms") // a successor
		}
	})
	lines := bufio.NewScanner(out)
	for url == "" && lines.Scan() {
		if m := regexp.MustCompile(`(https?://[^/]+)/#token=(\w+)`).FindStringSubmatch(lines.Text()); m != nil {
			url, token = m[1], m[2]
		}
	}
	if url == "" {
		t.Fatal("it does not serve")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // its successors write there too
	go func() {
		state, err := cmd.Process.Wait()
		if err == nil && !state.Success() {
			err = errors.New(state.String())
		}
		done <- err
	}()
	return url, token, done
}

// process is the number of the host that serves.
func (h *home) process(t *testing.T) int {
	t.Helper()
	said := h.run(t, "status", "--verbose")
	found := regexp.MustCompile(`process (\d+)`).FindStringSubmatch(said)
	if found == nil {
		t.Fatal("no host runs:", said)
	}
	pid, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// allowShell is a rule for commands of tests.
const allowShell = `policy "project" {
  rule "test" {
    tools  = ["shell__*"]
    effect = "allow"
  }
}
`

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal(what)
		}
	}
}

// begun waits until what a test runs has made the file begun.
func (h *home) begun(t *testing.T, what string) {
	t.Helper()
	eventually(t, what, func() bool {
		_, err := os.Stat(filepath.Join(h.dir, "begun"))
		return err == nil
	})
}

// socket is where the host serves its user.
func (h *home) socket(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(h.dir, "toolhost", "*.sock"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

// refuses waits until the host of a socket takes no new connections.
func refuses(t *testing.T, socket string) {
	t.Helper()
	eventually(t, "it does not stop", func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
}

func expect(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("this lacks %q:\n%s", want, got)
		}
	}
}

func waitFor(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

func TestCommandsUseTheRunningHost(t *testing.T) {
	h := newHome(t).withPlugin(t, `plugin "readfile" {
  tool "read" { aliases = ["look"] }
}`)
	expect(t, h.run(t, "call", "--verbose", "readfile__read", "path=note.txt"), "a note", "none is running", "\n0")
	expect(t, h.run(t, "serve", "--stop"), "no host is running", "\n4")
	url, token, ended := h.serving(t)
	expect(t, h.run(t, "status"), "readfile  not started  -    0 ")
	expect(t, h.run(t, "call", "--verbose", "readfile__read", "path=note.txt"), "a note", "uses the running host", "\n0")
	expect(t, h.run(t, "call", "--verbose", "--standalone", "readfile__read", "path=note.txt"), "a note", "--standalone asks")
	expect(t, h.run(t, "call", "--timeout", "1h", "readfile__read", "path=note.txt"), "a note", "\n0")
	expect(t, h.run(t, "call", "look", "path=note.txt"), "a note", "\n0")
	expect(t, h.run(t, "call", "look", "--help"), "toolhost call readfile__read path=", "\n0")
	expect(t, h.run(t, "call", "readfile__raed", "path=note.txt"), "Did you mean readfile__read", "\n2")
	expect(t, h.run(t, "call", "readfile__read", "path=none.txt", "--format", "json"), `"status":"error"`, "FileNotFound")
	expect(t, h.run(t, "discover", "--verbose"), "readfile__grep", "uses the running host")
	expect(t, h.run(t, "status", "--verbose"), "readfile  ready", "uses the running host")
	expect(t, h.run(t, "status", "--format", "json"), `"state": "ready"`, `"starts": 1`)
	if runtime.GOOS == "linux" {
		expect(t, h.run(t, "status", "--verbose"), "MEMORY", "CPU", " MiB ", " s ")
		expect(t, h.run(t, "status", "--format", "json"), `"memory_bytes": `)
	}
	expect(t, h.run(t, "serve"), "is running already", "\n1")
	expect(t, h.run(t, "serve", "--show-token"), token)
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 200, "/": 200, "/metrics": 401, "/mcp": 401} {
		answer, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != status {
			t.Errorf("%s: %d, want %d", path, answer.StatusCode, status)
		}
	}
	for name, mode := range map[string]os.FileMode{"toolhost": 0o700, "toolhost/*.sock": 0o600, "toolhost/*.token": 0o600} {
		found, err := filepath.Glob(filepath.Join(h.dir, name))
		if err != nil || len(found) != 1 {
			t.Fatal(name, found, err)
		}
		if info, err := os.Lstat(found[0]); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", found[0], info.Mode(), err)
		}
	}
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
	if left, _ := filepath.Glob(filepath.Join(h.dir, "toolhost", "*.sock")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// What a running host lists although a discovery command fails is listed, and the exit code says that tools are missing.
func TestDiscoveryFailsOnARunningHost(t *testing.T) {
	h := newHome(t).withPlugin(t, `plugin "discover" {
  config {
    discovery_command = "no-such-command-x"
    call_command      = "no-such-command-x"
  }
}`)
	_, _, ended := h.serving(t)
	expect(t, h.run(t, "discover", "--verbose"), "readfile__grep", "uses the running host",
		`plugin "discover": no tools: discovery_command no-such-command-x`, "\n4")
	expect(t, h.run(t, "status", "--format", "json"), `"kind": "problem"`, "\n4")
	expect(t, h.run(t, "serve", "--stop"), "\n0")
	waitFor(t, ended)
}

// A running host is that of one profile, and its status is that of the profile.
func TestStatusOfAProfile(t *testing.T) {
	h := newHome(t).withPlugin(t, "profile \"review\" {\n  read_only = true\n}\n")
	_, _, ended := h.serving(t, "--profile", "review")
	expect(t, h.run(t, "status", "--profile", "review", "--verbose"), "uses the running host", "readfile", "\n0")
	expect(t, h.run(t, "status", "--verbose"), "none is running for this configuration, work folder and profile",
		"readfile  ready", "\n0")
	expect(t, h.run(t, "status", "--profile", "nope"), `there is no profile "nope"`, "\n2")
	expect(t, h.run(t, "serve", "--profile", "review", "--stop"), "\n0")
	waitFor(t, ended)
}

// A host that goes on with the configuration of before says so with each command, until it may use the file.
func TestCommandsTellOfAFailedReload(t *testing.T) {
	h := newHome(t).withPlugin(t, "")
	_, _, ended := h.serving(t)
	good, err := os.ReadFile(filepath.Join(h.dir, "config.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	const told = "the running host uses it as it was:\n  "
	until := func(there bool) (out string) {
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
			out = h.run(t, "call", "readfile__read", "path=note.txt")
			if strings.Contains(out, told) == there {
				return out
			}
		}
		t.Fatal("the reload is not noticed:", out)
		return ""
	}
	h.write(t, "config.hcl", string(good)+"colour = 3\n")
	expect(t, until(true), "config.hcl:", `"colour"`, "a note", "\n0")
	h.write(t, "config.hcl", string(good))
	until(false)
	expect(t, h.run(t, "serve", "--stop"), "stops")
	waitFor(t, ended)
}

func TestUpgradeLosesNoCall(t *testing.T) {
	h := newHome(t).withPlugin(t, "")
	url, token, ended := h.serving(t)
	var calls, failed atomic.Int32
	stop := make(chan struct{})
	var callers sync.WaitGroup
	defer callers.Wait()
	end := sync.OnceFunc(func() { close(stop) })
	defer end()
	for range 3 {
		callers.Go(func() { // a client that keeps its connection
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := http.NewRequest(http.MethodPost, url+"/toolhost.api.v1.HostService/CallOnce",
					strings.NewReader(`{"tool":"readfile__read","arguments":"{\"path\":\"note.txt\"}"}`))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", "Bearer "+token)
				answer, err := client.Do(r)
				calls.Add(1)
				if err != nil {
					failed.Add(1)
					t.Errorf("call %d: %v", calls.Load(), err)
					return
				}
				text, err := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				if err != nil || !strings.Contains(string(text), `a note`) {
					failed.Add(1)
					t.Errorf("call %d: %s %v", calls.Load(), text, err)
					return
				}
			}
		})
	}
	for n := range 3 {
		before := calls.Load()
		for limit := time.Now().Add(patience); calls.Load() < before+20 && failed.Load() == 0; {
			if time.Now().After(limit) {
				t.Fatal("no calls are made")
			}
			time.Sleep(time.Millisecond)
		}
		expect(t, h.run(t, "serve", "--upgrade"), "serves in place of", "\n0")
		expect(t, h.run(t, "call", "readfile__read", "path=note.txt"), "a note", "\n0")
		if n == 0 {
			waitFor(t, ended)
		}
	}
	end()
	callers.Wait()
	t.Logf("%d calls, %d failed", calls.Load(), failed.Load())
	expect(t, h.run(t, "serve", "--stop"), "stops")
	h.awaitNone(t)
}

// awaitNone waits until no host runs, also none that has handed over: they share a lock.
func (h *home) awaitNone(t *testing.T) {
	t.Helper()
	locks, err := filepath.Glob(filepath.Join(h.dir, "toolhost", "*.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatal(locks, err)
	}
	for limit := time.Now().Add(patience); ; {
		f, err := fsutil.TryLock(locks[0], os.O_RDWR)
		if err == nil {
			_ = f.Close()
			return
		}
		if time.Now().After(limit) {
			t.Fatal("the host does not end")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestHostOnDemandEndsWhenItIsIdle(t *testing.T) {
	h := newHome(t).withPlugin(t, "serve {\n  on_demand    = true\n  idle_timeout = \"1s\"\n}\n")
	var callers sync.WaitGroup
	said := make([]string, 4)
	for i := range said {
		callers.Go(func() { said[i] = h.run(t, "call", "--verbose", "readfile__read", "path=note.txt") })
	}
	callers.Wait()
	hosts := map[string]bool{}
	for _, text := range said {
		expect(t, text, "a note", "\n0")
		hosts[regexp.MustCompile(`process \d+`).FindString(text)] = true
	}
	if len(hosts) != 1 || hosts[""] {
		t.Errorf("the calls used %v:\n%s", hosts, strings.Join(said, "\n"))
	}
	h.awaitNone(t)
}

// An idle_timeout that has changed counts from the reload on.
func TestIdleTimeoutIsReloaded(t *testing.T) {
	const serve = "serve {\n  on_demand    = true\n  idle_timeout = %q\n}\n"
	h := newHome(t).withPlugin(t, fmt.Sprintf(serve, "1h"))
	t.Cleanup(func() { // it has ended, unless the test failed
		if t.Failed() {
			h.run(t, "serve", "--stop", "--drain", "1ms")
		}
	})
	expect(t, h.run(t, "call", "--verbose", "readfile__read", "path=note.txt"), "started in the background", "a note", "\n0")
	h.withPlugin(t, fmt.Sprintf(serve, "1s"))
	h.awaitNone(t)
}

// A host ends by the limit that holds then: a shorter one, a longer one, or none.
func TestLimitOfIdleTimeChanges(t *testing.T) {
	for name, c := range map[string]struct{ first, second, want time.Duration }{
		"unchanged": {time.Hour, time.Hour, time.Hour},
		"shorter":   {time.Hour, time.Minute, 10 * time.Minute},
		"longer":    {time.Hour, 2 * time.Hour, 2 * time.Hour},
		"from none": {0, time.Hour, time.Hour},
		"to none":   {time.Hour, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, changed := time.Now(), make(chan struct{}, 1)
				var limit atomic.Int64
				limit.Store(int64(c.first))
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Hour)
				defer cancel()
				time.AfterFunc(10*time.Minute, func() {
					limit.Store(int64(c.second))
					changed <- struct{}{}
				})
				idle, is := awaitIdle(ctx, func() time.Duration { return time.Duration(limit.Load()) },
					func() time.Duration { return time.Since(began) }, changed)
				if idle != c.want || is != (c.want > 0) {
					t.Errorf("idle %v %v, want %v", idle, is, c.want)
				}
			})
		})
	}
}

// A command that cannot start the host says so, and goes on without it.
func TestHostOnDemandThatDoesNotStart(t *testing.T) {
	h := newHome(t).withPlugin(t, "serve {\n  on_demand = true\n}\n")
	if err := os.Mkdir(filepath.Join(h.dir, "toolhost"), 0o755); err != nil { // others may read it
		t.Fatal(err)
	}
	expect(t, h.run(t, "call", "readfile__read", "path=note.txt"), "a note", "no host could be started in the background",
		"Fix: chmod 700", "\n0")
}

// A host that cannot start is started once, and the command says why it does not.
func TestHostOnDemandSaysWhyItDoesNotStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, serve := range map[string]string{"taken": "address = \"" + taken.Addr().String() + "\"",
		"no address": `address = "127.0.0.1:22x"`, "no certificate": "tls_cert = \"none\"\n  tls_key = \"none\""} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t).withPlugin(t, "serve {\n  on_demand = true\n  "+serve+"\n}\n")
			said := h.run(t, "call", "readfile__read", "path=note.txt")
			expect(t, said, "a note", "no host could be started in the background", "its log is ", "\n0")
			logs, err := filepath.Glob(filepath.Join(h.dir, "toolhost", "*.log"))
			if err != nil || len(logs) != 1 {
				t.Fatal(logs, err)
			}
			log, err := os.ReadFile(logs[0])
			if err != nil {
				t.Fatal(err)
			}
			failed := regexp.MustCompile(`(?m)^toolhost-server: (.*)`).FindAllSubmatch(log, -1)
			if len(failed) != 1 {
				t.Fatalf("it was started %d times:\n%s", len(failed), log)
			}
			expect(t, said, string(failed[0][1]))
		})
	}
}

// A host whose files are deleted makes them again: commands reach it, no second one starts, and it can be replaced and
// stopped.
func TestDeletedFilesOfTheHost(t *testing.T) {
	h := newHome(t).withPlugin(t, "")
	_, token, ended := h.serving(t)
	pid := h.process(t)
	for name, remove := range map[string]func(path string) error{
		"socket": func(path string) error { return os.Remove(path + ".sock") },
		"folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		sockets, err := filepath.Glob(filepath.Join(h.dir, "toolhost", "*.sock"))
		if err != nil || len(sockets) != 1 {
			t.Fatal(name, sockets, err)
		}
		if err := remove(strings.TrimSuffix(sockets[0], ".sock")); err != nil {
			t.Fatal(name, err)
		}
		eventually(t, name+" is not made again", func() bool {
			return strings.Contains(h.run(t, "call", "--verbose", "readfile__read", "path=note.txt"), "uses the running host")
		})
		if now := h.process(t); now != pid {
			t.Errorf("%s: process %d serves, not %d", name, now, pid)
		}
		expect(t, h.run(t, "serve"), "is running already", "\n1")
		eventually(t, "the token is not kept", func() bool {
			return strings.Contains(h.run(t, "serve", "--show-token"), token)
		})
	}
	if runtime.GOOS != "windows" {
		expect(t, h.run(t, "serve", "--upgrade"), "serves in place of", "\n0")
		waitFor(t, ended)
	}
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	h.awaitNone(t)
}

// A host that cannot start names the setting, says what to do, and ends with the code of a wrong setting.
func TestServeThatCannotStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	inUse := taken.Addr().String()
	h := newHome(t).withPlugin(t, "serve {\n  address = \""+inUse+"\"\n}\n")
	h.write(t, "file", "")
	long := filepath.Join(h.dir, strings.Repeat("long/", 25))
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args    []string
		runtime string
		wants   []string
	}{
		{nil, "", []string{"address of the serve block, ", "config.hcl:2", inUse + " is in use", "choose another port"}},
		{[]string{"--address", inUse}, "", []string{"--address: ", "is in use"}},
		{[]string{"--address", "foo"}, "", []string{"--address: ", `"foo" is not a port`, "HOST:PORT"}},
		{[]string{"--address", ":80x"}, "", []string{"--address: ", `"80x" is not a port`}},
		{[]string{"--address", "127.0.0.1:99999"}, "", []string{"--address: ", `"99999" is not a port`}},
		{[]string{"--profile", "nope"}, "", []string{"nope"}},
		{[]string{"--drain", "-5s"}, "", []string{"--drain is -5s"}},
		{nil, long, []string{"the limit is", "set XDG_RUNTIME_DIR"}},
		{nil, filepath.Join(h.dir, "none"), []string{"$XDG_RUNTIME_DIR, ", "is not a folder", "make it"}},
		{nil, filepath.Join(h.dir, "file"), []string{"$XDG_RUNTIME_DIR, ", "is not a folder", "make it"}},
		{[]string{"--show-token"}, filepath.Join(h.dir, "file"), []string{"$XDG_RUNTIME_DIR, ", "is not a folder"}},
	} {
		there := *h
		if c.runtime != "" {
			there.env = append(slices.Clone(h.env), "XDG_RUNTIME_DIR="+c.runtime)
		}
		got := there.run(t, append([]string{"serve"}, c.args...)...)
		expect(t, got, append(c.wants, "\n2")...)
	}
}

// A token that lets no one in is an error that names its file and what to do, which helps.
func TestTokenThatIsEmpty(t *testing.T) {
	h := newHome(t).withPlugin(t, "")
	_, _, ended := h.serving(t)
	file := strings.TrimSuffix(h.socket(t), ".sock") + ".token"
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
	for _, text := range []string{"", "\n", "short\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, h.run(t, "serve", "--address", "127.0.0.1:0"), file, "remove the file", "\n2")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, _, ended = h.serving(t)
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
}

// While a host ends its calls, commands say so, and --stop waits for the end.
func TestStopWaitsForTheEnd(t *testing.T) {
	h := newHome(t).withPlugin(t, allowShell)
	_, _, ended := h.serving(t)
	pid := h.process(t)
	call := make(chan string, 1)
	go func() {
		call <- h.run(t, "call", "shell__exec", "command=touch begun; until [ -e go ]; do sleep 0.1; done")
	}()
	h.begun(t, "the call does not run")
	stopped := make(chan string, 2)
	socket := h.socket(t)
	go func() { stopped <- h.run(t, "serve", "--stop") }()
	refuses(t, socket)
	stops := fmt.Sprintf("process %d", pid)
	expect(t, h.run(t, "serve"), stops, "is stopping", fmt.Sprintf("kill %d", pid), "\n1")
	expect(t, h.run(t, "serve", "--upgrade"), stops, "is stopping", "\n4")
	expect(t, h.run(t, "approvals", "waiting"), stops, "is stopping", "\n4")
	expect(t, h.run(t, "call", "--verbose", "readfile__read", "path=note.txt"), stops, "is stopping", "a note", "\n0")
	go func() { stopped <- h.run(t, "serve", "--stop") }()
	select {
	case text := <-stopped:
		t.Errorf("it does not wait: %s", text)
	case <-ended:
		t.Error("it ends before its call")
	case <-time.After(time.Second):
	}
	h.write(t, "go", "")
	for range 2 {
		select {
		case text := <-stopped:
			expect(t, text, stops, "\n0")
			if strings.Contains(text, "1 calls") {
				t.Error(text)
			}
		case <-time.After(patience):
			t.Fatal("--stop does not end")
		}
	}
	waitFor(t, ended)
	expect(t, <-call, "0")
	expect(t, h.run(t, "serve", "--stop"), "no host is running", "\n4")
}

// Paths need not be text. The API, whose strings must be, serves folders and arguments that are not.
func TestWorkFolderThatIsNotText(t *testing.T) {
	h := newHome(t).withPlugin(t, "")
	h.dir = filepath.Join(h.dir, "caf\xe9")
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		t.Skip(err) // of a file system that has text alone
	}
	h.env = append(h.env, "XDG_RUNTIME_DIR="+h.dir) // of its sockets
	h.withPlugin(t, "audit {\n  path = \"audit.jsonl\"\n}\n")
	_, _, ended := h.serving(t)
	const refused = `caf\xe9" is not UTF-8; rename it` // by the plugin
	expect(t, h.run(t, "call", "--verbose", "readfile__read", "path=note.txt"), "the running host", refused, "\n4")
	expect(t, h.run(t, "call", "readfile__read", "path=caf\xe9"), refused, "\n4")
	expect(t, h.run(t, "call", "--session", "\xe9", "no__\xe9"), "no__\uFFFD", "\n2")
	expect(t, h.run(t, "status", "--verbose"), "the running host", refused, "\n4")
	expect(t, h.run(t, "discover", "--verbose"), "the running host", refused, "\n4")
	expect(t, h.run(t, "history", "search"), "readfile__read", "no__\uFFFD", "\n0")
	expect(t, h.run(t, "history", "search", "--session", "\xe9"), "no__\uFFFD", "\n0")
	expect(t, h.run(t, "history", "show", "\xe9"), "no call \uFFFD", "\n2")
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
	expect(t, h.run(t, "history", "search"), "readfile__read", "\n0")
}

// The host of a configuration that was deleted can be looked at and stopped, by each path that leads to it.
func TestHostOfADeletedConfiguration(t *testing.T) {
	h := newHome(t).withPlugin(t, "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(h.dir, link); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"named": {"--config", filepath.Join(h.dir, "config.hcl")},
		"by a link to its folder": {"--config", filepath.Join(link, "config.hcl")}, "found": nil} {
		h.withPlugin(t, "")
		_, _, ended := h.serving(t)
		if err := os.Remove(filepath.Join(h.dir, "config.hcl")); err != nil {
			t.Fatal(err)
		}
		said, err := h.command(t, append(args, "status", "--verbose")...).CombinedOutput()
		if err != nil || !strings.Contains(string(said), "the running host") {
			t.Errorf("%s: %s, %v", name, said, err)
		}
		for _, words := range [][]string{{"approvals"}, {"approvals", "waiting"}, {"approvals", "revoke", "x"},
			{"history", "search"}} {
			said, _ := h.command(t, append(append(args, "--verbose"), words...)...).CombinedOutput() // some fail
			if !strings.Contains(string(said), "uses the running host") {
				t.Errorf("%s: %q: %s", name, words, said)
			}
		}
		said, err = h.command(t, append(args, "serve", "--stop")...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %s, %v", name, said, err)
		}
		waitFor(t, ended)
	}
}

// So can that of a configuration which is a link, after any link on its way was deleted, and nothing stays after it.
func TestHostOfADeletedLink(t *testing.T) {
	for _, deleted := range []string{"config.hcl", "middle.hcl", "real.hcl"} {
		h := newHome(t).withPlugin(t, "")
		if err := os.Rename(filepath.Join(h.dir, "config.hcl"), filepath.Join(h.dir, "real.hcl")); err != nil {
			t.Fatal(err)
		}
		for _, link := range [][2]string{{filepath.Join(h.dir, "real.hcl"), "middle.hcl"}, {"middle.hcl", "config.hcl"}} {
			if err := os.Symlink(link[0], filepath.Join(h.dir, link[1])); err != nil {
				t.Fatal(err)
			}
		}
		_, _, ended := h.serving(t)
		if err := os.Remove(filepath.Join(h.dir, deleted)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"config.hcl", "middle.hcl", "real.hcl"} {
			said, err := h.command(t, "--config", filepath.Join(h.dir, name), "status", "--verbose").CombinedOutput()
			if err != nil || !strings.Contains(string(said), "the running host") {
				t.Errorf("without %s, %s: %s, %v", deleted, name, said, err)
			}
		}
		if said, err := h.command(t, "serve", "--stop").CombinedOutput(); err != nil {
			t.Fatalf("without %s: %s, %v", deleted, said, err)
		}
		waitFor(t, ended)
		if left, _ := filepath.Glob(filepath.Join(h.dir, "toolhost", "*.name")); len(left) > 0 {
			t.Errorf("without %s: %q is left", deleted, left)
		}
	}
}

// So can that of a configuration which was a link, and leads elsewhere now or is a file: it is the host of what commands
// find there, and goes by it once that is trusted.
func TestHostOfAChangedLink(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"another link": func(path string) error { return os.Symlink("other.hcl", path) },
		"a file":       func(path string) error { return os.Rename(filepath.Join(filepath.Dir(path), "other.hcl"), path) },
	} {
		h := newHome(t).withPlugin(t, "")
		path := filepath.Join(h.dir, "config.hcl")
		if err := os.Rename(path, filepath.Join(h.dir, "real.hcl")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("real.hcl", path); err != nil {
			t.Skip(err)
		}
		_, _, ended := h.serving(t)
		h.write(t, "other.hcl", fmt.Sprintf("# another\nplugin_dirs = [%q]\n", h.bin))
		if err := errors.Join(os.Remove(path), change(path)); err != nil {
			t.Fatal(name, err)
		}
		for _, words := range [][]string{{"status"}, {"approvals"}, {"call", "readfile__read", "path=note.txt"}} {
			if said := h.run(t, append(words, "--verbose")...); !strings.Contains(said, "uses the running host") {
				t.Fatalf("%s: %q: %s", name, words, said)
			}
		}
		expect(t, h.run(t, "serve"), "is running already", "\n1")
		if runtime.GOOS != "windows" {
			expect(t, h.run(t, "serve", "--upgrade"), "serves in place of", "\n0")
			waitFor(t, ended)
		}
		expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
		h.awaitNone(t)
		if left, _ := filepath.Glob(filepath.Join(h.dir, "toolhost", "*.name")); len(left) > 0 {
			t.Errorf("%s: %q is left", name, left)
		}
	}
}

func TestUnits(t *testing.T) {
	h := newHome(t)
	expect(t, h.run(t, "serve", "--print-unit", "systemd"), "ExecStart="+filepath.Join(h.bin, "toolhost-server"),
		"Type=notify", "WorkingDirectory="+h.dir, "--config="+filepath.Join(h.dir, "config.hcl"), "\n0")
	expect(t, h.run(t, "serve", "--print-unit", "launchd"), "<string>"+filepath.Join(h.bin, "toolhost-server"), "\n0")
}

// Units of two configurations, work folders or profiles have different names, descriptions and logs.
func TestUnitsHaveDifferentNames(t *testing.T) {
	h := newHome(t)
	const folder = "my -- <project>"
	if err := os.Mkdir(filepath.Join(h.dir, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for name, args := range map[string][]string{
		"plain":   nil,
		"profile": {"--profile", "review"},
		"config":  {"--config", filepath.Join(h.dir, "other.hcl")},
		"workdir": {"--workdir", filepath.Join(h.dir, folder)},
	} {
		printed := func(manager string) string {
			return h.run(t, append([]string{"serve", "--print-unit", manager}, args...)...)
		}
		unit := regexp.MustCompile(`(?s)systemd/user/([A-Za-z0-9_-]+)\.service, .*enable --now ([A-Za-z0-9_-]+)\n.*` +
			`Description=([^\n]+)\n`).FindStringSubmatch(printed("systemd"))
		list := regexp.MustCompile(`(?s)LaunchAgents/([A-Za-z0-9_-]+)\.plist, .*load -w ~/Library/LaunchAgents/` +
			`([A-Za-z0-9_-]+)\.plist -->.*<string>([A-Za-z0-9_-]+)</string>.*Library/Logs/([A-Za-z0-9_-]+)\.log`).
			FindStringSubmatch(printed("launchd"))
		if unit == nil || list == nil {
			t.Fatalf("%s: %s%s", name, printed("systemd"), printed("launchd"))
		}
		for _, other := range slices.Concat(unit[2:3], list[1:]) {
			if other != unit[1] {
				t.Errorf("%s: it is called %s and %s", name, unit[1], other)
			}
		}
		for _, distinct := range []string{unit[1], unit[3]} {
			if seen[distinct] != "" {
				t.Errorf("%s and %s are both called %q", name, seen[distinct], distinct)
			}
			seen[distinct] = name
		}
		if again := printed("systemd"); !strings.Contains(again, unit[1]+".service") {
			t.Errorf("%s: another time it is called %s", name, again)
		}
		if name == "workdir" && !strings.HasPrefix(unit[1], "toolhost-my-project-") {
			t.Errorf("the name does not tell people the folder: %s", unit[1])
		}
	}
}

// A service manager reads a unit in another folder and another environment than those in which it was printed.
func TestUnitsOfRelativePaths(t *testing.T) {
	const folder = `a & <b> "c" 50% $d`
	h := newHome(t)
	if err := os.Mkdir(filepath.Join(h.dir, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	config, workdir := filepath.Join(h.dir, folder, "other.hcl"), filepath.Join(h.dir, folder)
	for name, args := range map[string][]string{
		"flags":    {"--config", filepath.Join(folder, "other.hcl"), "--workdir", folder},
		"variable": {"--workdir", folder},
	} {
		printed := func(manager string) []byte {
			cmd := h.command(t, append([]string{"serve", "--print-unit", manager}, args...)...)
			if name == "variable" {
				cmd.Env = append(slices.Clone(h.env), "TOOLHOST_CONFIG="+filepath.Join(folder, "other.hcl"))
			}
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(name, err)
			}
			return out
		}
		var list struct {
			Words []string `xml:"dict>array>string"`
			Texts []string `xml:"dict>string"`
			Keys  []string `xml:"dict>key"`
		}
		if err := xml.Unmarshal(printed("launchd"), &list); err != nil {
			t.Fatal(name, err)
		}
		want := []string{"--config=" + config, "--workdir=" + workdir}
		got := slices.Sorted(slices.Values(list.Words[1:]))
		if !slices.Equal(got, want) || !slices.Contains(list.Texts, workdir) ||
			!slices.Contains(list.Keys, "AbandonProcessGroup") { // else an upgrade ends with its first host
			t.Errorf("%s: launchd: %q %q %q, want %q", name, list.Words, list.Texts, list.Keys, want)
		}
		unit := string(printed("systemd"))
		quoted := strings.NewReplacer("%", "%%", "$", "$$", `"`, `\"`)
		for _, word := range want {
			if !strings.Contains(unit, ` "`+quoted.Replace(word)+`"`) {
				t.Errorf("%s: systemd: %s lacks %s", name, unit, word)
			}
		}
		expect(t, unit, "WorkingDirectory="+strings.ReplaceAll(workdir, "%", "%%")+"\n")
	}
}
