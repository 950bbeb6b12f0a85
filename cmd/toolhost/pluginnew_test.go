package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/testutil"
)

// A new plugin works in three commands: it is written, installed, and called. Its other targets work too, and end well.
func TestNewPlugin(t *testing.T) {
	t.Parallel()
	sdk, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for lang, needs := range map[string]func() string{"go": haveGo, "node": haveNode, "python": havePython} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			required := os.Getenv("TOOLHOST_TEST_KITS") == "required"
			if lang != "go" && !required {
				testutil.Long(t)
			}
			if why := needs(); why != "" && required {
				t.Fatal(why)
			} else if why != "" {
				t.Skip(why)
			}
			dir := t.TempDir()
			env := append(os.Environ(), "XDG_DATA_HOME="+filepath.Join(dir, "data"), "NO_COLOR=1", "MAKEFLAGS=",
				"XDG_STATE_HOME="+filepath.Join(dir, "state"))
			name := "try-" + lang
			at := filepath.Join(dir, name)
			run := func(at, input, name string, args ...string) string {
				t.Helper()
				cmd := exec.Command(name, args...)
				cmd.Dir, cmd.Env, cmd.Stdin = at, env, strings.NewReader(input)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %v\n%s", cmd, err, out)
				}
				return string(out)
			}
			want := func(out string, texts ...string) {
				t.Helper()
				for _, text := range texts {
					if !strings.Contains(out, text) {
						t.Errorf("this does not have %q:\n%s", text, out)
					}
				}
			}
			out := run(dir, "", "toolhost", "plugin", "new", name, "--lang", lang, "--sdk", sdk)
			want(out, "cd "+name, "make run", "plugin run --watch", "make test", "make install")
			if lang == "node" && !required {
				fetch := exec.Command("make", "node_modules")
				fetch.Dir, fetch.Env = at, env
				if out, err := fetch.CombinedOutput(); err != nil {
					t.Skipf("npm cannot get what the plugin needs: %v\n%s", err, out)
				}
			}
			run(at, "", "make", "install", "ARGS=--yes")
			want(run(dir, "", "toolhost", "call", name+"__hello", "name=Ada"), "Hello, Ada.")

			want(run(dir, "", "toolhost", "discover"), name+"__hello")
			out = run(at, "", "make", "test")
			if strings.Contains(strings.ToLower(out), "skipped=") || strings.Contains(out, "SKIP") {
				t.Errorf("tests are left out:\n%s", out)
			}
			want(run(at, "", "make", "check"), "0 failed, 0 warnings")
			want(run(at, "hello {\"name\": \"Ada\", \"language\": \"es\"}\n", "make", "run"), name+": ready with 1 tool",
				"Hola, Ada.")
			want(run(at, "", "make"), "make install")
			if lang == "go" && required { // it takes a while
				run(at, "", "make", "test", "TOOLHOST=bin/host/toolhost")
			}
			if lang != "python" || exec.Command("/usr/bin/python3", "-c", pythonNeeds).Run() == nil { // else .venv is there
				if err := os.RemoveAll(at); err != nil {
					t.Fatal(err)
				}
				want(run(dir, "", "toolhost", "call", name+"__hello", "name=Ada"), "Hello, Ada.")
			}
		})
	}
}

func haveGo() string { return missing("make", "go") }

func haveNode() string { return missing("make", "node", "npm") }

const pythonNeeds = "import grpc.aio, google.protobuf"

func havePython() string {
	if why := missing("make", "python3"); why != "" {
		return why
	}
	for _, program := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(program, "-c", pythonNeeds).Run() == nil {
			return ""
		}
	}
	return "Python has no grpcio and protobuf here"
}

func missing(programs ...string) string {
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			return err.Error()
		}
	}
	return ""
}

// A program that the go command has downloaded and built has the version of its module; any other one that of its
// Makefile.
func TestInstalledVersion(t *testing.T) {
	local := debug.BuildInfo{Main: debug.Module{Version: "v0.3.1"}}
	downloaded := local
	downloaded.Main.Sum = "h1:x"
	for _, c := range []struct {
		version string
		info    *debug.BuildInfo
		want    string
	}{
		{unreleased, nil, unreleased}, {unreleased, &local, unreleased}, {unreleased, &downloaded, "0.3.1"},
		{"0.2.0", &downloaded, "0.2.0"},
	} {
		if got := installedVersion(c.version, c.info); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
