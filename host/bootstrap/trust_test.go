package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
)

// trusting uses its own list of trusted files.
func trusting(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
}

func trustFile(path string) error {
	c, err := Load(Options{Config: path})
	if err != nil {
		return err
	}
	return c.Trust()
}

func writeConfig(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Trust is for the bytes that were read, not for later content of the file.
func TestTrustIsForWhatWasRead(t *testing.T) {
	trusting(t)
	path := filepath.Join(t.TempDir(), "config.hcl")
	writeConfig(t, path, "# good\n")
	if err := trustFile(path); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"# good\n": true, "# evil\n": false} {
		writeConfig(t, path, text)
		c, err := Load(Options{Config: path})
		if err != nil {
			t.Fatal(err)
		}
		writeConfig(t, path, "# good\n")
		if got := c.Trusted(); got != want {
			t.Errorf("%q: trusted %t", text, got)
		}
	}
}

// A list that cannot be read is told apart from one without the file.
func TestWhyNothingIsTrusted(t *testing.T) {
	trusting(t)
	path := filepath.Join(t.TempDir(), "config.hcl")
	writeConfig(t, path, "# good\n")
	if err := trustFile(path); err != nil {
		t.Fatal(err)
	}
	list, err := UserFile("trusted")
	if err != nil {
		t.Fatal(err)
	}
	const none = "config.hcl is not trusted, so nothing of it was run"
	for _, c := range []struct {
		spoil func()
		want  string
	}{
		{func() { writeConfig(t, path, "# changed\n") }, ""},
		{func() {
			if err := os.Chmod(list, 0o666); err != nil {
				t.Fatal(err)
			}
		}, "; what is trusted is not known: the list of trusted files " + list + " cannot be used: other users can write to it"},
		{func() { t.Setenv("XDG_CONFIG_HOME", ""); t.Setenv("HOME", "") },
			"; what is trusted is not known: the user's configuration folder, where rules may stand, is not known"},
	} {
		c.spoil()
		loaded, err := Load(Options{Config: path})
		if err != nil {
			t.Fatal(err)
		}
		if err := loaded.Admit(t.Context()); err == nil || !strings.HasPrefix(err.Error(), none+c.want) ||
			c.want == "" && err.Error() != none {
			t.Errorf("%v, want %s", err, none+c.want)
		}
	}
}

// A callback that panics ends nothing but what depends on it, and the log has its stack.
func TestCallbacksThatPanic(t *testing.T) {
	trusting(t)
	path := filepath.Join(t.TempDir(), "config.hcl")
	writeConfig(t, path, "# good\n")
	var log bytes.Buffer
	o := Options{Config: path, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		OnConfig: func(*config.Config) { panic("no config") },
		AskTrust: func(context.Context, *TrustRequest) (bool, error) { panic("no one") },
		Telemetry: func(*config.Config) (trace.TracerProvider, metric.MeterProvider, error) {
			panic("no exporter")
		}}
	_, err := Open(t.Context(), o)
	if _, untrusted := errors.AsType[*UntrustedError](err); !untrusted {
		t.Errorf("asking for trust gives %v", err)
	}
	o.TrustNamed = true
	if _, err := Open(t.Context(), o); err == nil || err.Error() != "Options.Telemetry panicked; the log has the stack" {
		t.Errorf("telemetry gives %v", err)
	}
	for _, want := range []string{"OnConfig", "AskTrust", "Telemetry", "no config", "no one", "no exporter",
		"trust_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, log.String())
		}
	}
}

// Watch runs in a goroutine of the program, which such a panic would end.
func TestWatchSurvivesAPanic(t *testing.T) {
	trusting(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	i := withServices(t, "", Options{OnToolsChanged: func(string) { stop(); panic("not now") }})
	writeText(t, i.Config().Path, "# changed\n")
	i.Watch(ctx)
}

// A misspelt name of a plugin to restart is no success, and nothing is reloaded.
func TestRestartOfAnUnknownPlugin(t *testing.T) {
	trusting(t)
	i := withServices(t, "", Options{Plugins: []string{"greet"}})
	for name, want := range map[string]string{
		"servces":  `there is no plugin "servces"; did you mean "services"?`,
		"services": `there is no plugin "services" among those that this host was opened with`,
	} {
		_, err := i.Reload(t.Context(), "greet", name)
		if _, unknown := errors.AsType[*UnknownPluginError](err); !unknown || err.Error() != want {
			t.Error(err)
		}
	}
}

// A name with a line break would trust the text after it.
func TestTrustOfANameWithALineBreak(t *testing.T) {
	trusting(t)
	dir := filepath.Join(t.TempDir(), "a\n"+strings.Repeat("0", 64)+"  ")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	writeConfig(t, filepath.Join(dir, "config.hcl"), "")
	if err := trustFile(filepath.Join(dir, "config.hcl")); err == nil {
		known, err := readTrusted()
		t.Errorf("now trusted: %v, %v", known, err)
	}
}

// A trusted file may have become a pipe without a writer.
func TestListTrustedPipe(t *testing.T) {
	trusting(t)
	path := filepath.Join(t.TempDir(), "config.hcl")
	writeConfig(t, path, "")
	if err := trustFile(path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	listed := make(chan error, 1)
	go func() {
		_, err := TrustedFiles()
		listed <- err
	}()
	select {
	case err := <-listed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for a writer")
	}
}

// A list of trusted files that is a pipe is refused, and one that is something else is begun again.
func TestListOfTrustedIsAPipe(t *testing.T) {
	trusting(t)
	list, err := UserFile("trusted")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(list), 0o700), unix.Mkfifo(list, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := TrustedFiles(); err == nil || !strings.Contains(err.Error(), list+": not a regular file") {
		t.Error(err)
	}
	if err := os.Remove(list); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.hcl")
	writeConfig(t, path, "")
	writeConfig(t, list, strings.Repeat("no list", 20_000)) // such as of another program
	if err := trustFile(path); err != nil {
		t.Error(err)
	}
}

// A list of trusted files that is a link stays one, also where it leads to nothing yet.
func TestTrustedThroughALink(t *testing.T) {
	for name, begin := range map[string]func(path string){
		"a file":  func(path string) { writeConfig(t, path, "") },
		"nothing": func(string) {},
	} {
		t.Run(name, func(t *testing.T) { testTrustedThroughALink(t, begin) })
	}
}

func testTrustedThroughALink(t *testing.T, begin func(path string)) {
	trusting(t)
	path, kept := filepath.Join(t.TempDir(), "config.hcl"), filepath.Join(t.TempDir(), "kept")
	list, err := UserFile("trusted")
	if err != nil {
		t.Fatal(err)
	}
	writeConfig(t, path, "")
	begin(kept)
	if err := errors.Join(os.MkdirAll(filepath.Dir(list), 0o700), os.Symlink(kept, list), trustFile(path)); err != nil {
		t.Fatal(err)
	}
	if to, _ := os.Readlink(list); to != kept {
		t.Errorf("the link leads to %q", to)
	}
	if text, err := os.ReadFile(kept); err != nil || !strings.Contains(string(text), path) {
		t.Errorf("%q, %v", text, err)
	}
}

// Two concurrent requests to trust are both stored.
func TestTrustAtTheSameTime(t *testing.T) {
	trusting(t)
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 20 {
		path := filepath.Join(dir, strconv.Itoa(i))
		writeConfig(t, path, "")
		all.Go(func() {
			if err := trustFile(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if known, err := readTrusted(); err != nil || len(known) != 20 {
		t.Errorf("%d of 20 are trusted; %v", len(known), err)
	}
}

// A file that another user owns or can write to is not read, wherever it was found. Only root can make one of another
// user.
func TestConfigurationsOfOthers(t *testing.T) {
	trusting(t)
	own, err := UserFile("config.hcl")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	here := filepath.Join(dir, "config.hcl")
	named := filepath.Join(t.TempDir(), "named.hcl")
	const anyone, another = "other users can write to it. Fix: chmod go-w ", "its owner is another user, with the id 12345"
	for name, c := range map[string]struct {
		path   string
		o      Options
		refuse map[string]bool
	}{
		"the user's":       {own, Options{TrustNamed: true}, map[string]bool{anyone: true, another: true}},
		"found here":       {here, Options{TrustNamed: true}, map[string]bool{anyone: true, another: true}},
		"named":            {named, Options{TrustNamed: true, Config: named}, map[string]bool{anyone: true}},
		"named by no user": {named, Options{Config: named}, map[string]bool{anyone: true, another: true}},
	} {
		if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
			t.Fatal(err)
		}
		for why, change := range map[string]func() error{
			anyone:  func() error { return os.Chmod(c.path, 0o666) },
			another: func() error { return os.Chown(c.path, 12345, -1) },
		} {
			writeConfig(t, c.path, "")
			if err := change(); err != nil {
				t.Log(name, err)
			} else if _, err = Load(c.o); (err != nil) != c.refuse[why] || err != nil && !strings.Contains(err.Error(), why) {
				t.Errorf("%s, %s: %v", name, why, err)
			} else if err != nil && strings.Contains(err.Error(), "--config") != (c.o.TrustNamed && why == another) {
				t.Errorf("%s, %s: what helps is wrong: %v", name, why, err)
			}
			if err := os.Remove(c.path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Nothing starts while other users can change the rules or remove them: neither a discovery command nor a plugin.
func TestRulesOfOthersStartNothing(t *testing.T) {
	trusting(t)
	rules, err := UserFile("policy.hcl")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "config.hcl")
	writeConfig(t, path, strings.ReplaceAll(`
plugin "early" {
  command = ["/bin/sh", "-c", "touch DIR/began"]
  eager   = true
}
plugin_discovery "team" {
  command = ["/bin/sh", "-c", "touch DIR/found; echo []"]
}
`, "DIR", dir))
	if err := errors.Join(os.MkdirAll(filepath.Dir(rules), 0o700), os.WriteFile(rules, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]struct{ spoil, fix func() error }{
		"the file": {func() error { return os.Chmod(rules, 0o622) }, func() error { return os.Chmod(rules, 0o600) }},
		"its folder": {func() error { return os.Chmod(filepath.Dir(rules), 0o777) },
			func() error { return os.Chmod(filepath.Dir(rules), 0o700) }},
		"its folder, without rules": {
			func() error { return errors.Join(os.Remove(rules), os.Chmod(filepath.Dir(rules), 0o777)) },
			func() error {
				return errors.Join(os.WriteFile(rules, nil, 0o600), os.Chmod(filepath.Dir(rules), 0o700))
			}},
	} {
		if err := change.spoil(); err != nil {
			t.Fatal(err)
		}
		i, err := Open(t.Context(), Options{Config: path, TrustNamed: true, Workdir: dir,
			OnState: func(s supervise.Status) { t.Errorf("%s: plugin %s is %s", name, s.Name, s.State) }})
		if err == nil {
			err = i.Close()
			t.Errorf("%s: opened; %v", name, err)
		} else if !strings.Contains(err.Error(), "nothing runs, because") ||
			!strings.Contains(err.Error(), "Fix: chmod go-w") {
			t.Errorf("%s: %v", name, err)
		}
		if err := change.fix(); err != nil {
			t.Fatal(err)
		}
	}
	for _, trace := range []string{"began", "found"} {
		if _, err := os.Stat(filepath.Join(dir, trace)); err == nil {
			t.Errorf("something ran: there is %s", trace)
		}
	}
}
