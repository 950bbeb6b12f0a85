//go:build unix

package main

import (
	"bytes"
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/toolhost/toolhost/host/server"
)

// askingHome has the shell plugin, whose commands are asked about, and a running host.
func askingHome(t *testing.T, more string) *home {
	t.Helper()
	h := newHome(t)
	h.write(t, "config.hcl", fmt.Sprintf("plugin_dirs = [%q]\n%s", h.bin, more))
	h.serve(t)
	return h
}

// waiting returns the id of the one question that waits. It fails when one of the calls is answered instead.
func (h *home) waiting(t *testing.T, calls ...<-chan map[string]json.RawMessage) string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		out := h.run(t, "approvals", "waiting", "--format", "json")
		var question struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal([]byte(strings.TrimSuffix(out, "0")), &question); err == nil && question.ID != "" {
			return question.ID
		}
		for _, call := range calls {
			select {
			case m := <-call:
				if m["method"] == nil {
					t.Fatalf("the call is answered: %s", m)
				}
			default:
			}
		}
	}
	t.Fatal("nothing waits")
	return ""
}

func (h *home) call(t *testing.T, command string) *exec.Cmd {
	t.Helper()
	return h.command(t, "--config", filepath.Join(h.dir, "config.hcl"), "call", "shell__exec", "command="+command)
}

// wait returns what the end of a call sends.
func wait[T any](t *testing.T, done <-chan T) (out T) {
	t.Helper()
	select {
	case out = <-done:
	case <-time.After(patience):
		t.Fatal("the call has not ended")
	}
	return out
}

// A call without a terminal waits until another terminal answers.
func TestApprovalFromAnotherTerminal(t *testing.T) {
	h := askingHome(t, "")
	for _, answer := range []struct{ word, want, code string }{{"yes", "made", "0"}, {"no", "not in this folder", "3"}} {
		var out bytes.Buffer
		call := h.call(t, "echo made > file; cat file")
		call.Stdout, call.Stderr = &out, &out
		if err := call.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- call.Wait() }()
		id := h.waiting(t)
		if _, err := os.Stat(filepath.Join(h.dir, "file")); err == nil && answer.word == "yes" {
			t.Fatal("it ran before the answer")
		}
		args := []string{"approvals", "answer", strings.ToLower(id[:8]), answer.word}
		if answer.word == "no" {
			args = append(args, "--reason", "not in this folder")
		}
		if got := h.run(t, args...); !strings.HasSuffix(got, "0") {
			t.Errorf("the answer gives %s", got)
		}
		if got := h.run(t, args...); !strings.Contains(got, "no question") || !strings.HasSuffix(got, "2") {
			t.Errorf("a second answer gives %s", got)
		}
		_ = wait(t, done)
		if code := fmt.Sprint(call.ProcessState.ExitCode()); code != answer.code || !strings.Contains(out.String(), answer.want) {
			t.Errorf("after %s the call ends with code %s:\n%s", answer.word, code, &out)
		}
	}
}

// The record says who approved a call, whichever approver it was, and the history shows it.
func TestRecordSaysWhoApproved(t *testing.T) {
	h := askingHome(t, "audit {}\n")
	approvedBy := func(standalone bool, answer func(), args ...string) string {
		t.Helper()
		calls := []string{"call", "shell__exec", "command=true --of " + rand.Text()}
		if standalone {
			calls = append(calls, "--standalone")
		}
		got := make(chan string, 1)
		go func() { got <- h.run(t, append(calls, args...)...) }()
		answer()
		expect(t, wait(t, got), "\n0")
		out := strings.TrimSuffix(h.run(t, "history", "export", "--format", "csv"), "0")
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || len(rows) < 2 {
			t.Fatalf("%v\n%s", err, out)
		}
		return rows[len(rows)-1][slices.Index(rows[0], "approval_by")]
	}
	none := func() {}
	for _, c := range []struct{ got, want string }{
		{approvedBy(false, func() { h.run(t, "approvals", "answer", h.waiting(t), "yes") }), "terminal"},
		{approvedBy(false, none, "--approve", "always"), "approve=always"},
		{approvedBy(true, none, "--approve", "always"), "approve=always"},
	} {
		if c.got != c.want {
			t.Errorf("the record names %q, not %q", c.got, c.want)
		}
	}
}

// An answer counts for the question whose ID was given, and for no other one: not even for the only one that waits.
func TestAnswerNamesItsQuestion(t *testing.T) {
	h := askingHome(t, "")
	call := h.call(t, "echo made > file")
	if err := call.Start(); err != nil {
		t.Fatal(err)
	}
	id := h.waiting(t)
	for _, short := range []string{"", id[:1], id[:7]} {
		expect(t, h.run(t, "approvals", "answer", short, "yes"), "is too short", "8 characters", "\n2")
	}
	for _, other := range []string{strings.Repeat("A", 8), strings.Repeat("A", 26)} {
		expect(t, h.run(t, "approvals", "answer", other, "yes"), "no question", "\n2")
	}
	for want, flags := range map[string][]string{"a no is for one call": {"no", "--saved"},
		"--scope says": {"no", "--scope", "tool"}, "--reason says why not": {"yes", "--reason", "x"}} {
		expect(t, h.run(t, append([]string{"approvals", "answer", id}, flags...)...), want, "\n2")
	}
	if still := h.waiting(t); still != id {
		t.Errorf("%s waits, not %s", still, id)
	}
	expect(t, h.run(t, "approvals", "answer", id, "no"), "is rejected", "\n0")
	expect(t, h.run(t, "approvals", "answer", strings.ToLower(id), "yes"), "rejected already, by terminal", "\n2")
	_ = call.Wait() // it was rejected
}

// --approve answers for the person at a running host too, but for calls that a rule always asks about, and what the
// call has started stays.
func TestApproveFlagAtARunningHost(t *testing.T) {
	h := askingHome(t, `policy "project" {
  rule "delete" {
    tools  = ["shell__exec"]
    when   = runs(args.command, ["rm"])
    effect = "always_ask"
  }
}
`)
	run := func(approve string, words ...string) string {
		return h.run(t, append([]string{"call", "--verbose", "--approve", approve}, words...)...)
	}
	expect(t, run("always", "shell__exec", "command=sleep 600", "background:=true"), "runs", "uses the running host", "\n0")
	expect(t, run("never", "shell__exec", "command=touch file"), "E_REJECTED", "--approve never", "\n3")
	expect(t, h.run(t, "call", "shell__job", "--help"), "toolhost call shell__job action=", "\n0")
	expect(t, run("always", "shell__job", "action=stop", "id=job-1"), "job-1", "\n0")
	got := make(chan string, 1)
	go func() { got <- run("always", "shell__exec", "command=rm -f file") }()
	expect(t, h.run(t, "approvals", "answer", h.waiting(t), "no"), "\n0")
	expect(t, wait(t, got), "waits for a person's approval", "E_REJECTED", "\n3")
}

// An upgrade ends no running call, however long that runs, and a call that waits for a person waits at the successor.
func TestUpgradeWithLongAndWaitingCalls(t *testing.T) {
	h := newHome(t)
	h.write(t, "config.hcl", fmt.Sprintf("plugin_dirs = [%q]\n", h.bin))
	_, _, ended := h.serving(t, "--drain", "1ms")
	begin := func(command string) <-chan string {
		got := make(chan string, 1)
		go func() { got <- h.run(t, "call", "shell__exec", "command="+command) }()
		return got
	}
	end := func(call <-chan string, want string) {
		expect(t, wait(t, call), want, "\n0")
	}
	long := begin("touch begun; until [ -e go ]; do sleep 0.1; done; echo ran on")
	expect(t, h.run(t, "approvals", "answer", h.waiting(t), "yes"), "\n0")
	h.begun(t, "the call does not run")
	waiting := begin("echo made by the successor")
	before := h.waiting(t)
	expect(t, h.run(t, "serve", "--upgrade"), "serves in place of", "\n0")
	after := h.waiting(t)
	if after == before {
		t.Error("the question is the old one")
	}
	expect(t, h.run(t, "approvals", "answer", after, "yes"), "\n0")
	end(waiting, "made by the successor")
	select {
	case err := <-ended:
		t.Errorf("the old host ends before its call: %v", err)
	case <-time.After(server.LeaveTime + time.Second):
	}
	h.write(t, "go", "")
	end(long, "ran on")
	waitFor(t, ended)
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	h.awaitNone(t)
}

// A call that waits for a person waits on, however often its host is replaced.
func TestWaitingCallOutlivesManyUpgrades(t *testing.T) {
	h := askingHome(t, "")
	got := make(chan string, 1)
	go func() { got <- h.run(t, "call", "shell__exec", "command=echo made at last") }()
	id := h.waiting(t)
	for range 4 {
		expect(t, h.run(t, "serve", "--upgrade"), "serves in place of", "\n0")
		before := id
		eventually(t, "the question does not wait at the successor", func() bool { id = h.waiting(t); return id != before })
	}
	expect(t, h.run(t, "approvals", "answer", id, "yes"), "is approved", "\n0")
	expect(t, wait(t, got), "made at last", "\n0")
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	h.awaitNone(t)
}

// approvals watch goes on with the host that replaces its own, and ends when there is none: stopped, or lost.
func TestApprovalsWatchAcrossHosts(t *testing.T) {
	for name, end := range map[string]struct {
		how   func(h *home, pid int)
		wants []string
	}{
		"stopped": {func(h *home, _ int) { expect(t, h.run(t, "serve", "--stop"), "stops", "\n0") }, []string{"has ended"}},
		"lost": {func(_ *home, pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }, []string{"the running host was lost",
			"ended without stopping"}},
	} {
		for _, terminal := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, terminal %t", name, terminal), func(t *testing.T) {
				h := askingHome(t, "")
				watch := h.command(t, "--config", filepath.Join(h.dir, "config.hcl"), "approvals", "watch")
				text := watchOutput(t, watch, terminal)
				shown := func(id string) func() bool {
					return func() bool { return strings.Contains(text(), id) }
				}
				ask := func() string {
					call := h.call(t, "echo made")
					if err := call.Start(); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = call.Process.Kill(); _ = call.Wait() })
					return h.waiting(t)
				}
				id := ask()
				if terminal {
					id = "Run it?"
				}
				eventually(t, "it shows no question", shown(id))
				expect(t, h.run(t, "serve", "--upgrade"), "serves in place of", "\n0")
				pid := h.process(t)
				eventually(t, "it does not keep watching", shown(fmt.Sprintf("replaced, by process %d; still watching", pid)))
				if !terminal {
					eventually(t, "the next host's question is not shown", shown(h.waiting(t)))
				}
				end.how(h, pid)
				done := make(chan error, 1)
				go func() { done <- watch.Wait() }()
				_ = wait(t, done) // its code is below
				if code := watch.ProcessState.ExitCode(); code != 4 {
					t.Errorf("code %d", code)
				}
				for _, want := range end.wants {
					eventually(t, "it does not say "+want+": "+text(), shown(want))
				}
			})
		}
	}
}

// watchOutput starts a command, at a terminal or without one, and returns what gives its output so far.
func watchOutput(t *testing.T, cmd *exec.Cmd, terminal bool) func() string {
	t.Helper()
	out := &logBuffer{}
	if terminal {
		f, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		go func() { _, _ = io.Copy(out, f) }() // it ends with an error of the terminal
	} else {
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	return out.String
}

// A host that stops does not wait for answers that nobody can give any more: the call is made by another host.
func TestStopWithAnOpenQuestion(t *testing.T) {
	h := askingHome(t, "")
	got := make(chan string, 1)
	go func() { got <- h.run(t, "call", "--verbose", "shell__exec", "command=touch file") }()
	h.waiting(t)
	expect(t, h.run(t, "serve", "--stop", "--drain", "1h"), "stops", "\n0")
	expect(t, wait(t, got), "a host of its own", "E_APPROVAL_UNAVAILABLE", "nothing was run", "\n3")
	h.awaitNone(t)
}

// The terminal that called asks, too; when another approver is faster, it says who.
func TestTerminalHearsOfAnotherAnswer(t *testing.T) {
	h := askingHome(t, "")
	call := h.call(t, "echo made > file")
	terminal, err := pty.Start(call)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(terminal) // it ends with an error of the terminal
		shown <- string(text)
	}()
	id := h.waiting(t)
	if got := h.run(t, "approvals", "answer", id, "yes"); !strings.HasSuffix(got, "0") {
		t.Fatal(got)
	}
	done := make(chan error, 1)
	go func() { done <- call.Wait() }()
	if err := wait(t, done); err != nil {
		t.Error(err)
	}
	text := <-shown
	for _, want := range []string{"shell__exec wants to run", "It is approved, by terminal."} {
		if !strings.Contains(text, want) {
			t.Errorf("the terminal lacks %q:\n%s", want, text)
		}
	}
}

// The person at the terminal answers.
func TestTerminalAnswers(t *testing.T) {
	h := askingHome(t, "")
	call := h.call(t, "echo made > file")
	terminal, err := pty.Start(call)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	shown := make(chan struct{})
	go func() {
		defer func() { _, _ = io.Copy(io.Discard, terminal) }()
		var text []byte
		for piece := make([]byte, 1024); !bytes.Contains(text, []byte("Run it?")); {
			n, err := terminal.Read(piece)
			if text = append(text, piece[:n]...); err != nil {
				return
			}
		}
		close(shown)
	}()
	select {
	case <-shown:
	case <-time.After(patience):
		t.Fatal("the terminal does not ask")
	}
	if _, err := terminal.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- call.Wait() }()
	if err := wait(t, done); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(h.dir, "file")); err != nil || string(text) != "made\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// The webhook of the configuration is notified of a call that waits, and that it ends with its caller.
func TestWebhookOfTheConfiguration(t *testing.T) {
	bodies := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	defer hook.Close()
	h := askingHome(t, fmt.Sprintf("approval {\n  notify \"hook\" {\n    url = %q\n  }\n}\n", hook.URL))
	call := h.call(t, "date")
	if err := call.Start(); err != nil {
		t.Fatal(err)
	}
	next := func() string {
		select {
		case body := <-bodies:
			return body
		case <-time.After(patience):
			t.Fatal("the webhook gets nothing")
			return ""
		}
	}
	if body := next(); !strings.Contains(body, `"event":"waiting"`) || !strings.Contains(body, "shell__exec") {
		t.Error(body)
	}
	if err := call.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = call.Wait() // killed
	if body := next(); !strings.Contains(body, `"result":"withdrawn"`) {
		t.Error(body)
	}
}

// A terminal that is killed while it asks answers nothing, and of two answers at once exactly one counts.
func TestApproversThatDieAndRace(t *testing.T) {
	h := askingHome(t, "")
	call := h.call(t, "echo made > file")
	if err := call.Start(); err != nil {
		t.Fatal(err)
	}
	id := h.waiting(t)
	watch := h.command(t, "--config", filepath.Join(h.dir, "config.hcl"), "approvals", "watch")
	terminal, err := pty.Start(watch)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	asks := make(chan bool, 1)
	go func() {
		var text []byte
		for piece := make([]byte, 1024); !bytes.Contains(text, []byte("Run it?")); {
			n, err := terminal.Read(piece)
			if text = append(text, piece[:n]...); err != nil {
				asks <- false
				return
			}
		}
		asks <- true
	}()
	select {
	case asked := <-asks:
		if !asked {
			t.Fatal("the watching terminal ends without a question")
		}
	case <-time.After(patience):
		t.Fatal("the watching terminal does not ask")
	}
	if err := watch.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = watch.Wait() // killed
	if still := h.waiting(t); still != id {
		t.Errorf("%s waits, not %s", still, id)
	}
	const both = 8
	answers := make(chan string, both)
	for i := range both {
		go func() { answers <- h.run(t, "approvals", "answer", id, []string{"yes", "no"}[i%2]) }()
	}
	var won string
	for range both {
		if got := <-answers; strings.HasSuffix(got, "0") {
			won += got
		}
	}
	done := make(chan error, 1)
	go func() { done <- call.Wait() }()
	err = wait(t, done)
	_, missing := os.Stat(filepath.Join(h.dir, "file"))
	approved := won == "shell__exec is approved\n0"
	if !approved && won != "shell__exec is rejected\n0" || approved != (err == nil) || approved != (missing == nil) {
		t.Errorf("those that count: %q; the call: %v; its file: %v", won, err, missing)
	}
}

// asks makes a call, answers its question, if one is asked, and reports whether one was.
func (h *home) asks(t *testing.T, answer ...string) bool {
	t.Helper()
	call := h.call(t, "echo made > file")
	if err := call.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- call.Wait() }()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return false
		default:
		}
		var question struct {
			ID string `json:"id"`
		}
		out := h.run(t, "approvals", "waiting", "--format", "json")
		if json.Unmarshal([]byte(strings.TrimSuffix(out, "0")), &question) != nil || question.ID == "" {
			continue
		}
		if got := h.run(t, append([]string{"approvals", "answer", question.ID}, answer...)...); !strings.HasSuffix(got, "0") {
			t.Fatal(got)
		}
		_ = wait(t, done) // it may be rejected
		return true
	}
	t.Fatal("the call neither ends nor asks")
	return false
}

// A running host learns of approvals that a command of another configuration, or an editor, adds and removes.
func TestRememberedApprovalsChangeWhileTheHostRuns(t *testing.T) {
	h := askingHome(t, "")
	if !h.asks(t, "yes", "--scope", "tool", "--saved") || h.asks(t, "no") {
		t.Fatal("a saved approval does not hold")
	}
	path := filepath.Join(h.dir, "toolhost", "approvals.hcl")
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`always "(\w+)"`).FindSubmatch(saved)
	if id == nil {
		t.Fatalf("%s", saved)
	}
	h.write(t, "other.hcl", "")
	expect(t, h.run(t, "--config", filepath.Join(h.dir, "other.hcl"), "approvals", "revoke", string(id[1])), "is revoked")
	until := func(want bool) {
		t.Helper()
		for limit := time.Now().Add(patience); h.asks(t, "no") != want; {
			if time.Now().After(limit) {
				t.Fatalf("no change of the approvals arrives: want a question: %t", want)
			}
		}
	}
	until(true)
	h.write(t, filepath.Join("toolhost", "approvals.hcl"), string(saved))
	until(false)
}

// Approvals that end with the running host are listed and revoked like those that are saved.
func TestHeldApprovalsAreListedAndRevoked(t *testing.T) {
	h := askingHome(t, "")
	if !h.asks(t, "yes", "--scope", "tool") || h.asks(t, "no") {
		t.Fatal("an approval of the tool does not hold")
	}
	expect(t, h.run(t, "approvals"), "shell__exec", "the host ends")
	expect(t, h.run(t, "approvals", "--standalone"), "no approvals are remembered")
	var listed []struct {
		ID    string `json:"id"`
		Saved bool   `json:"saved"`
	}
	out := h.run(t, "approvals", "--format", "json")
	if err := json.Unmarshal([]byte(strings.TrimSuffix(out, "0")), &listed); err != nil || len(listed) != 1 || listed[0].Saved {
		t.Fatalf("%v: %s", err, out)
	}
	expect(t, h.run(t, "approvals", "revoke", listed[0].ID), "is revoked")
	expect(t, h.run(t, "approvals", "revoke", listed[0].ID), "no remembered approval")
	if !h.asks(t, "no") {
		t.Error("a revoked approval holds")
	}
}
