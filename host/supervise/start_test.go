//go:build unix

package supervise

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

func dynamic(t *testing.T, config string) *Process {
	t.Helper()
	spec := fixture("dynamic", "dynamic")
	spec.Source = "config.hcl:3"
	if config != "" {
		spec.Config = []byte(config)
	}
	return add(t, supervisor(t), spec)
}

func toolNames(t *testing.T, p *Process) []string {
	t.Helper()
	tools, err := p.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestToolsComeFromTheConfiguration(t *testing.T) {
	p := dynamic(t, `{"tools":["a","b"]}`)
	if diff := cmp.Diff([]string{"a", "b"}, toolNames(t, p)); diff != "" {
		t.Error(diff)
	}
	if got := p.Status().Notices; !cmp.Equal(got, sdk.Remarks("there are 2 now")) {
		t.Errorf("notices: %q", got)
	}
}

func TestWrongConfiguration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		words  []string
		path   string // of the problem
	}{
		"missing":     {"", []string{"configuration is wrong", "tools"}, ""},
		"wrong type":  {`{"tools":[1]}`, []string{"configuration is wrong", "tools[0]", "string"}, "tools[0]"},
		"unknown key": {`{"tools":[],"tols":1}`, []string{"configuration is wrong", "tols"}, "tols"},
		"refused":     {`{"tools":[],"refuse":"today"}`, []string{"refused its configuration", "I refuse: today"}, "refuse"},
		"bad tool":    {`{"tools":["bad tool"]}`, []string{"refused its configuration", "bad tool"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dynamic(t, c.config)
			_, err := p.Tools(t.Context())
			checkError(t, err, sdk.CodePluginUnavailable, c.words...)
			if got := p.Status().State; got != Invalid {
				t.Errorf("state %s", got)
			}
			plugin, problems, more := ConfigProblems(err)
			if plugin != p.Name() || len(problems) != 1 || problems[0].Path != c.path || more != 0 ||
				!strings.Contains(problems[0].Message, c.words[0]) {
				t.Errorf("problems of %q: %+v and %d more", plugin, problems, more)
			}
		})
	}
}

func TestChangedToolsAreReported(t *testing.T) {
	p := dynamic(t, `{"tools":["a"]}`)
	reported := make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	watching := make(chan struct{})
	go func() {
		close(watching)
		watched <- p.Watch(ctx, func() { reported <- struct{}{} })
	}()
	<-watching
	soon(t, "the watch stands", patience, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.watchers) == 1 })
	mustCall(t, p, "a", "zz")
	select {
	case <-reported:
	case <-time.After(patience):
		t.Fatal("the new tool was not announced")
	}
	if diff := cmp.Diff([]string{"a", "zz"}, toolNames(t, p)); diff != "" {
		t.Error(diff)
	}
	if got := p.Status(); got.Tools != 2 || !cmp.Equal(got.Notices, sdk.Remarks("there are 2 now")) {
		t.Errorf("status: %+v", got)
	}
	cancel()
	if err := <-watched; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestHandshake(t *testing.T) {
	dir := shortDir(t)
	lis, err := net.Listen("unix", filepath.Join(dir, "plugin1"))
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	socket := lis.Addr().String()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if os.WriteFile(file, nil, 0o600) != nil || os.Symlink(socket, link) != nil {
		t.Fatal("cannot write")
	}
	long := func(length int) string {
		line := "1|1|unix|" + dir + "/plugin1|grpc|\n"
		return strings.Replace(line, "/plugin1", strings.Repeat("/", length-len(line)+1)+"plugin1", 1)
	}
	for name, c := range map[string]struct{ line, words string }{
		"right":                  {"1|1|unix|" + socket + "|grpc|\n", ""},
		"right, without the end": {"1|1|unix|" + socket + "|grpc", ""},
		"right, with CR":         {"1|1|unix|" + socket + "|grpc|\r\n", ""},
		"empty":                  {"", "ended before"},
		"blank":                  {"\n", "not a toolhost plugin"},
		"words":                  {"hello\n", `"hello"`},
		"other core":             {"2|1|unix|" + socket + "|grpc|\n", "not a toolhost plugin"},
		"other version":          {"1|9|unix|" + socket + "|grpc|\n", "version"},
		"tcp":                    {"1|1|tcp|127.0.0.1:1|grpc|\n", "Unix socket"},
		"net/rpc":                {"1|1|unix|" + socket + "|netrpc|\n", "grpc"},
		"certificate":            {"1|1|unix|" + socket + "|grpc|AAAA\n", "certificate"},
		"other folder":           {"1|1|unix|/tmp/plugin1|grpc|\n", "outside"},
		"dots":                   {"1|1|unix|" + dir + "/../x|grpc|\n", "outside"},
		"relative":               {"1|1|unix|plugin1|grpc|\n", "outside"},
		"gone":                   {"1|1|unix|" + dir + "/nothing|grpc|\n", "does not exist"},
		"a file":                 {"1|1|unix|" + file + "|grpc|\n", "not a socket"},
		"a link":                 {"1|1|unix|" + link + "|grpc|\n", "not a socket"},
		"as long as it may be":   {long(4 << 10), ""},
		"one byte longer":        {long(4<<10 + 1), "not a toolhost plugin"},
		"many fields":            {"1|1|unix|" + socket + "|grpc|||||\n", "not a toolhost plugin"},
		"no folder":              {"1|1|unix|" + socket + "/|grpc|\n", "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readHandshake(bufio.NewReaderSize(strings.NewReader(c.line), maxHandshake), dir)
			switch {
			case c.words == "" && err != nil:
				t.Error(err)
			case c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)):
				t.Errorf("got %v, want words %q", err, c.words)
			}
		})
	}
}

// The error of a handshake is a line that can be shown, whatever is in which field, and of bounded length.
func TestHandshakeErrorsArePrintable(t *testing.T) {
	dir := shortDir(t)
	for field := range 7 {
		for _, odd := range []string{"\x1b[2J", "\u202e", "\xff", "\x00", "\r", "\u009b", strings.Repeat("x", 2000)} {
			for _, text := range []string{odd, filepath.Join(dir, odd)} {
				fields := []string{"1", "1", "unix", filepath.Join(dir, "plugin1"), "grpc", "", ""}
				fields[field] = text
				line := strings.Join(fields, "|") + "\n"
				_, err := readHandshake(bufio.NewReaderSize(strings.NewReader(line), maxHandshake), dir)
				if err == nil || !utf8.ValidString(err.Error()) || len(err.Error()) > 500 ||
					strings.ContainsFunc(err.Error(), func(r rune) bool { return r == '\n' || textutil.Invisible(r) }) {
					t.Errorf("field %d is %.100q: %q", field+1, text, err)
				}
			}
		}
	}
}

func FuzzHandshake(f *testing.F) {
	for _, seed := range []string{"1|1|unix|/tmp/x|grpc|\n", "|||||", "1|1|tcp|127.0.0.1:22|grpc|\n", "\x00\xff"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, line string) {
		if text, err := readHandshake(bufio.NewReaderSize(strings.NewReader(line), maxHandshake), dir); err == nil {
			t.Errorf("accepted %q though nothing listens", text)
		}
	})
}

// What is in a pipe at its deadline is read, however late, and without waiting for more.
func TestPipeIsReadAfterTheDeadline(t *testing.T) {
	text := strings.Repeat("last words\n", 3000)
	for name, closed := range map[string]bool{"the writer has ended": true, "the writer holds on": false} {
		t.Run(name, func(t *testing.T) {
			r, w := must2(os.Pipe())
			defer r.Close()
			defer w.Close()
			must(w.WriteString(text))
			want := os.ErrDeadlineExceeded
			if closed {
				w.Close()
				want = nil // the end of the file
			}
			check(t, r.SetReadDeadline(time.Now().Add(-time.Second)))
			var out bytes.Buffer
			if _, err := io.Copy(&out, &remainderReader{file: r}); !errors.Is(err, want) || out.String() != text {
				t.Errorf("%d bytes of %d, %v", out.Len(), len(text), err)
			}
		})
	}
}

// A writer without end is not read without end.
func TestReadAfterTheDeadlineIsBounded(t *testing.T) {
	r, w := must2(os.Pipe())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for block := make([]byte, 4096); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}()
	check(t, r.SetReadDeadline(time.Now().Add(-time.Second)))
	n, err := io.Copy(io.Discard, &remainderReader{file: r})
	if !errors.Is(err, os.ErrDeadlineExceeded) || n > maxRemainder+64<<10 {
		t.Errorf("%d bytes, %v", n, err)
	}
	r.Close()
	w.Close()
	<-done
}

func must2[A, B any](a A, b B, err error) (A, B) {
	must(0, err)
	return a, b
}

// Each generation has a private folder for temporary files, which is removed with its content afterwards.
func TestTemporaryFolder(t *testing.T) {
	t.Parallel()
	for _, l := range []sandbox.Level{sandbox.Supervised, sandbox.Confined} {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			s := supervisor(t)
			spec := fixture("good", "good")
			spec.Sandbox.Level = l
			p := add(t, s, spec)
			first := mustCall(t, p, "litter", "")
			info, err := os.Stat(first)
			if err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(first) != s.runDir.path {
				t.Fatalf("%s: %v, %v", first, info, err)
			}
			_, _ = call(t, p, "die", "it")
			if second := mustCall(t, p, "litter", ""); second == first {
				t.Error("two generations have one folder")
			}
			soon(t, "the first is gone", patience, func() bool { return missing(first) })
			_ = s.Close()
			if !missing(s.runDir.path) {
				t.Error("the supervisor left its folder")
			}
		})
	}
}

// Temporary files are not put on file systems meant for small files.
func TestTemporaryFolderIsNotInTheRuntimeFolder(t *testing.T) {
	runtime, tmp := shortDir(t), shortDir(t)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	t.Setenv("TMPDIR", tmp)
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := add(t, s, fixture("good", "good"))
	if got := mustCall(t, p, "litter", ""); filepath.Dir(filepath.Dir(got)) != tmp ||
		filepath.Dir(s.runDir.path) != runtime {
		t.Errorf("temporary files in %s, sockets in %s", got, s.runDir.path)
	}
	_ = s.Close()
	for _, dir := range []string{runtime, tmp} {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s holds %v", dir, left)
		}
	}
}

func TestTemporaryFolderOfAFailedStart(t *testing.T) {
	s := supervisor(t)
	_, _ = call(t, add(t, s, fixture("bad", "exits")), "echo", "")
	soon(t, "no folder is left", patience, func() bool {
		left, _ := filepath.Glob(filepath.Join(s.runDir.path, "t*"))
		return len(left) == 0
	})
}

// A TMPDIR that is configured for a plugin takes precedence.
func TestConfiguredTemporaryFolder(t *testing.T) {
	spec := fixture("good", "good")
	spec.Env["TMPDIR"] = t.TempDir()
	if got := mustCall(t, add(t, supervisor(t), spec), "litter", ""); got != spec.Env["TMPDIR"] {
		t.Errorf("it has %s", got)
	}
	_ = os.Chmod(filepath.Join(spec.Env["TMPDIR"], "locked"), 0o700)
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

// Discovery commands get the environment that plugins get, and end with all that they have started.
func TestDiscoveryIsContained(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "s3cret")
	d := Discovery{Name: "team",
		Command: []string{"sh", "-c", "env | grep -c SECRET_TOKEN; echo $$ >&2; setsid sleep 1000 & echo done"},
		Dir:     t.TempDir(), Timeout: 2 * patience}
	started := time.Now()
	out, err := d.run(t.Context())
	if err != nil || string(out) != "0\ndone\n" || time.Since(started) > patience {
		t.Errorf("%q, %v", out, err)
	}
	d.Command[2] = "echo trouble >&2; exit 3"
	if _, err := d.run(t.Context()); err == nil || !strings.Contains(err.Error(), "exited with code 3") ||
		!strings.Contains(err.Error(), "it printed: trouble") {
		t.Error(err)
	}
}

// Changes to a spec after it was given have no effect.
func TestSpecsAreCopied(t *testing.T) {
	t.Parallel()
	no := false
	make1 := func() Spec {
		return Spec{Name: "a", Command: []string{"run", "x"}, Env: map[string]string{"A": "1"}, Config: []byte(`{"a":1}`),
			Idempotent: []string{"get"},
			Sandbox:    sandbox.Spec{Write: []string{"/w"}, Read: []string{"/r"}, Wrapper: []string{"bwrap"}, Network: &no}}
	}
	given := make1()
	taken := given.complete("/")
	given.Command[1], given.Env["A"], given.Idempotent[0] = "y", "2", "set"
	copy(given.Config, "??????")
	given.Sandbox.Write[0], given.Sandbox.Read[0], given.Sandbox.Wrapper[0], *given.Sandbox.Network = "/", "/", "sh", true
	no = false
	if want := make1().complete("/"); !reflect.DeepEqual(taken, want) {
		t.Errorf("%+v, want %+v", taken, want)
	}
	if *taken.Sandbox.Network {
		t.Error("the network is allowed")
	}
}

// The error of a tool that fails with a sandbox's typical message explains the sandbox, and how to allow more.
func TestAdviceAboutTheSandbox(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	for name, c := range map[string]struct {
		level  sandbox.Level
		said   string
		advice []string
	}{
		"denied": {sandbox.Confined, "open /etc/x: permission denied",
			[]string{"sandbox of the plugin", `sandbox level "confined"`, `write = ["FOLDER"]`}},
		"read only": {sandbox.Confined, "open .git/config: read-only file system",
			[]string{"sandbox of the plugin"}},
		"something else":  {sandbox.Confined, "no such file", nil},
		"nothing is kept": {sandbox.Supervised, "open /etc/x: permission denied", nil},
		"isolated, no reads": {sandbox.Isolated, "open /etc/x: permission denied",
			[]string{`read = ["FOLDER"]`, "network = true"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := fixture(strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", ""), "good")
			spec.Sandbox.Level = c.level
			result, err := add(t, s, spec).Call(t.Context(), request("fail", c.said))
			if err != nil || result.Error == nil {
				t.Fatalf("it gave %+v, %v", result, err)
			}
			if proctree.DetectCapabilities().Landlock == 0 {
				c.advice = nil // nothing is refused then
			}
			if got := result.Error.Suggestion; (got == "") != (c.advice == nil) {
				t.Errorf("the advice is %q", got)
			}
			for _, words := range c.advice {
				if !strings.Contains(result.Error.Suggestion, words) {
					t.Errorf("%q does not say %q", result.Error.Suggestion, words)
				}
			}
		})
	}
}

// What a plugin's connections take ends with them, and they end with the plugin: it may have its host dial again and
// again.
func TestConnectionsOfAProcess(t *testing.T) {
	lis, err := net.Listen("unix", filepath.Join(shortDir(t), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	c := &child{treeEnded: make(chan struct{})}
	dial := c.dialer(address{"unix", lis.Addr().String()})
	before := runtime.NumGoroutine()
	var last, theirs net.Conn
	for range 300 {
		if last != nil {
			_ = last.Close()
			_ = theirs.Close()
		}
		if last, err = dial(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if theirs, err = lis.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	defer theirs.Close()
	if n := runtime.NumGoroutine() - before; n > 100 { // those of other tests only end
		t.Errorf("300 connections, of which one is open, have %d goroutines", n)
	}
	close(c.treeEnded)
	if _, err := last.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a connection to a process that has ended: %v", err)
	}
	if late, err := dial(t.Context(), ""); err != nil || !isClosedConnection(late) {
		t.Errorf("one that comes too late: %v", err)
	}
}

// Programs that clean up temporary files may delete the folders of a running host, whole or in part. Plugins without a
// sandbox may put something else in their place.
func TestDeletedRunFoldersAreMadeAgain(t *testing.T) {
	s := supervisor(t)
	moved := 0
	away := func(dir string) string {
		moved++
		to := filepath.Join(t.TempDir(), strconv.Itoa(moved))
		check(t, os.Rename(dir, to))
		return to
	}
	for i, remove := range []func(dir string) error{
		os.RemoveAll,
		func(dir string) error { return os.Remove(filepath.Join(dir, lockName)) },
		func(dir string) error { away(dir); return nil },
		func(dir string) error { away(dir); return os.WriteFile(dir, nil, 0o600) },
		func(dir string) error { return os.Symlink(away(dir), dir) },
		func(dir string) error { away(dir); return os.Symlink(t.TempDir(), dir) },
		func(dir string) error { away(dir); return os.Symlink("/nowhere", dir) },
		func(dir string) error { return os.Chmod(dir, 0o777) },
		func(dir string) error { return os.Chmod(dir, 0) },
		func(dir string) error { return os.Chmod(dir, 0o500) },
		func(dir string) error { away(filepath.Join(dir, lockName)); return nil },
		func(dir string) error {
			return os.Symlink(away(filepath.Join(dir, lockName)), filepath.Join(dir, lockName))
		},
		func(dir string) error {
			away(filepath.Join(dir, lockName))
			return os.MkdirAll(filepath.Join(dir, lockName, "x"), 0o700)
		},
		func(dir string) error {
			away(filepath.Join(dir, lockName))
			theirs, err := fsutil.TryLock(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE)
			t.Cleanup(func() { _ = theirs.Close() })
			return err
		},
	} {
		check(t, remove(s.runDir.path))
		if s.tempDir != s.runDir {
			check(t, remove(s.tempDir.path))
		}
		mustCall(t, add(t, s, fixture(fmt.Sprint("late", i), "good")), "echo", "x")
		for _, d := range []*runDir{s.runDir, s.tempDir} {
			if info := must(os.Lstat(d.path)); info.Mode() != os.ModeDir|0o700 {
				t.Errorf("%d: %s is %v", i, d.path, info.Mode())
			}
			if !fsutil.Locked(filepath.Join(d.path, lockName)) {
				t.Errorf("%s is not locked: another host would remove it", d.path)
			}
		}
	}
}
