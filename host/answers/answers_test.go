package answers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/hclfile"
)

var created = time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)

func sampleAnswers() []host.Remembered {
	return []host.Remembered{
		{ID: "push", Tool: "shell__exec", Scope: "prefix", Prefix: []string{"git", "push"}, Workdir: "/w", Created: created,
			Saved: true},
		{ID: "args_1", Tool: "edit__write", Scope: "arguments",
			Arguments:  json.RawMessage(`{"a":"${x} \"q\"\n","b":"\u00e9"}`),
			Definition: strings.Repeat("ab", 32), Caller: "agent %{x}", Created: created, Saved: true},
		{ID: "all", Tool: "web__fetch", Scope: "tool", Saved: true},
	}
}

func TestAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder", "answers.hcl")
	if got, err := Load(path); got != nil || err != nil {
		t.Fatalf("a file that is not there has %v and the error %v", got, err)
	}
	want := sampleAnswers()
	for _, a := range want {
		if err := Save(path, a); err != nil {
			t.Fatal(err)
		}
	}
	compareAnswers(t, path, want)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), header) || !strings.Contains(string(text), "prefix  = [\"git\", \"push\"]") {
		t.Errorf("the file is hard to read:\n%s", text)
	}
	want[0].Prefix = []string{"git", "pull"}
	if err := Save(path, want[0]); err != nil {
		t.Fatal(err)
	}
	compareAnswers(t, path, []host.Remembered{want[1], want[2], want[0]})
	if removed, err := Remove(path, "args_1"); !removed || err != nil {
		t.Errorf("removed %v, with the error %v", removed, err)
	}
	if removed, err := Remove(path, "args_1"); removed || err != nil {
		t.Errorf("removed again %v, with the error %v", removed, err)
	}
	compareAnswers(t, path, []host.Remembered{want[2], want[0]})
	link := filepath.Join(t.TempDir(), "link.hcl") // such as into a folder that is kept in git
	if err := errors.Join(os.Symlink(path, link), Save(link, want[1])); err != nil {
		t.Fatal(err)
	}
	compareAnswers(t, path, []host.Remembered{want[2], want[0], want[1]})
	if to, err := os.Readlink(link); to != path {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if err := errors.Join(os.Remove(path), Save(link, want[1])); err != nil { // such as before that folder is there
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); to != path {
		t.Errorf("the link that led to nothing leads to %q, %v", to, err)
	}
}

func compareAnswers(t *testing.T, path string, want []host.Remembered) {
	t.Helper()
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAnswersAreForTheOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "answers.hcl")
	if err := Save(path, sampleAnswers()[2]); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(p)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v and the error %v, want %v", p, info.Mode(), err, want)
		}
	}
	if err := os.Chmod(path, 0o620); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "other users can write to it. Fix: chmod go-w") {
		t.Errorf("the error is %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Chown(path, 12345, -1) != nil { // which only root can do
		return
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "its owner is another user") {
		t.Errorf("the file of another user gives the error %v", err)
	}
}

// Comments stay, and no other files are left behind.
func TestAnswersKeepComments(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "answers.hcl", "# mine\nalways \"a\" { # of monday\n  tool  = \"a__b\"\n  scope = \"tool\"\n}\n")
	if err := Save(path, host.Remembered{ID: "b", Tool: "a__c", Scope: "tool"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "# mine\nalways \"a\" { # of monday\n  tool  = \"a__b\"\n  scope = \"tool\"\n}\n\nalways \"b\" {\n  tool  = " +
		"\"a__c\"\n  scope = \"tool\"\n}\n"
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 { // the file and its lock
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A file with mistakes is not overwritten.
func TestAnswersLeaveBrokenFilesAlone(t *testing.T) {
	for name, src := range map[string]string{
		"syntax":       "always \"a\" {\n",
		"other blocks": "plugin \"a\" {}\n",
		"other words":  "always \"a\" {\n  tool = \"a__b\"\n  scope = \"tool\"\n  until = \"x\"\n}\n",
		"no scope":     "always \"a\" {\n  tool = \"a__b\"\n}\n",
		"not text":     "\xff\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir(), "answers.hcl", src)
			_, loading := Load(path)
			saving := Save(path, sampleAnswers()[0])
			_, removing := Remove(path, "a")
			for _, err := range []error{loading, saving, removing} {
				if _, ok := errors.AsType[*Error](err); !ok {
					t.Errorf("the error is %v", err)
				}
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != src {
				t.Errorf("the file is now %q, %v", now, err)
			}
		})
	}
}

func TestAnswerMistakes(t *testing.T) {
	for want, block := range map[string]string{
		"tool is not the full name of a tool": `tool = "exec"` + "\n" + `scope = "tool"`,
		"scope cannot be \"all\"":             `tool = "a__b"` + "\n" + `scope = "all"`,
		"prefix is missing":                   `tool = "a__b"` + "\n" + `scope = "prefix"`,
		"prefix is empty, and would cover": `tool = "a__b"` + "\n" + `scope = "prefix"` + "\n" +
			`prefix = []`,
		"a prefix is for the scope prefix": `tool = "a__b"` + "\n" + `scope = "tool"` + "\n" +
			`prefix = ["a"]`,
		"arguments are for the scope arguments": `tool = "a__b"` + "\n" + `scope = "tool"` + "\n" +
			`arguments = "{}"`,
		"arguments is missing": `tool = "a__b"` + "\n" + `scope = "arguments"`,
		"arguments is not a JSON object": `tool = "a__b"` + "\n" + `scope = "arguments"` + "\n" +
			`arguments = "[]"`,
		"definition must be 64 hex digits": `tool = "a__b"` + "\n" + `scope = "tool"` + "\n" +
			`definition = "x"`,
		"created is not a time": `tool = "a__b"` + "\n" + `scope = "tool"` + "\n" +
			`created = "monday"`,
		"a always cannot be called \"a b\"":                "",
		"always \"a\" is already defined at answers.hcl:1": "",
	} {
		src := "always \"a\" {\n" + block + "\n}\n"
		if block == "" {
			good := " {\n  tool = \"a__b\"\n  scope = \"tool\"\n}\n"
			src = "always \"a\"" + good + "always \"a\"" + good + "always \"a b\"" + good
			want = strings.Replace(want, "a always", "an always", 1)
		}
		_, err := parse("answers.hcl", []byte(src))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nthe error is %v, want %q", src, err, want)
		}
	}
}

// An approval that would change when read back is refused, and nothing is written.
func TestSaveAnswerRefuses(t *testing.T) {
	good := host.Remembered{ID: "a", Tool: "a__b", Scope: "tool"}
	change := func(f func(*host.Remembered)) host.Remembered { a := good; f(&a); return a }
	for name, a := range map[string]host.Remembered{
		"id":            change(func(a *host.Remembered) { a.ID = "a b" }),
		"no tool":       change(func(a *host.Remembered) { a.Tool = "" }),
		"composition":   change(func(a *host.Remembered) { a.Workdir = "/e\u0301" }),
		"not UTF-8":     change(func(a *host.Remembered) { a.Caller = "\xff" }),
		"prefix letter": change(func(a *host.Remembered) { a.Scope, a.Prefix = "prefix", []string{"e\u0301"} }),
		"not JSON":      change(func(a *host.Remembered) { a.Scope, a.Arguments = "arguments", json.RawMessage("{") }),
		"too large": change(func(a *host.Remembered) {
			a.Scope, a.Arguments = "arguments", json.RawMessage(`{"a":"`+strings.Repeat("x", maxSize)+`"}`)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "answers.hcl")
			if err := Save(path, a); err == nil {
				t.Error("it was kept")
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("there is a file: %v", err)
			}
		})
	}
}

// Concurrent writers do not lose each other's approvals.
func TestAnswersOfManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.hcl")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := Save(path, host.Remembered{ID: fmt.Sprintf("a%02d", i), Tool: "a__b", Scope: "tool"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := Load(path)
	if err != nil || len(got) != 20 {
		t.Errorf("%d answers and the error %v", len(got), err)
	}
}

// A writer that keeps the lock makes others fail instead of wait without limit.
func TestAnswersLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.hcl")
	f, err := os.Create(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := hclfile.Lock(path+".lock", os.O_RDWR, 50*time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "another program keeps") {
		t.Errorf("the error is %v", err)
	}
}

// Any text is read back unchanged, or refused.
func TestAnswersRoundTrip(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		arguments, err := json.Marshal(map[string]string{rapid.String().Draw(t, "key"): rapid.String().Draw(t, "value")})
		if err != nil {
			t.Fatal(err)
		}
		want := []host.Remembered{
			{ID: "a", Tool: "a__b", Scope: "arguments", Arguments: arguments, Caller: rapid.String().Draw(t, "caller"),
				Saved: true},
			{ID: "b", Tool: "a__b", Scope: "prefix", Prefix: rapid.SliceOfN(rapid.String(), 1, 3).Draw(t, "prefix"),
				Workdir: "/" + rapid.String().Draw(t, "workdir"), Saved: true},
		}
		want = slices.DeleteFunc(want, func(a host.Remembered) bool { return Save(path, a) != nil })
		got, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		sameMeaning := cmp.Comparer(func(a, b json.RawMessage) bool { return cmp.Equal(anyOf(a), anyOf(b)) })
		if len(want) != len(got) || len(want) > 0 && !cmp.Equal(want, got, sameMeaning) {
			t.Errorf("(-want +got)\n%s", cmp.Diff(want, got, sameMeaning))
		}
	})
}

func anyOf(raw json.RawMessage) (v any) {
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return v
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
