//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.hcl")
	text := fmt.Sprintf("plugin_dirs = [%q]\nplugin \"gone\" {\n  command = [\"./gone\"]\n}\nprofile \"looking\" {\n  "+
		"read_only = true\n}\n", bin)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want int
		args string
	}{
		{0, `call|--approve|always|shell__exec|{"command":"exit 3"}`},
		{1, `call|readfile__read|{"path":"nothing"}`},
		{2, `call|nosuch__tool|{}`},
		{2, `call|readfile__read|{"path":1}`},
		{2, `call|readfile__read|{`},
		{2, `no-such-command`},
		{2, `--config|gone.hcl|discover`},
		{4, `call|gone__tool|{}`},
		{4, `discover`},
		{5, `call|--approve|always|shell__exec|{"command":"sleep 60"}|--timeout|200ms`},
		{3, `call|shell__exec|{"command":"sleep 60"}`},
		{3, `call|--approve|ask|shell__exec|{"command":"sleep 60"}`},
		{3, `call|--approve|never|shell__exec|{"command":"sleep 60"}`},
		{3, `call|--profile|looking|edit__write|{"path":"a","content":"b"}`},
		{2, `call|--profile|loking|readfile__list|{}`},
		{2, `call|--approve|maybe|readfile__list|{}`},
		{0, `policy|explain|shell__exec|{"command":"sleep 60"}`},
		{2, `policy|explain|shell__exec|{"command":7}`},
		{3, `policy|explain|--profile|looking|edit__write|{"path":"a","content":"b"}`},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, errs bytes.Buffer
			args := append([]string{"--config", config, "--workdir", dir}, strings.Split(c.args, "|")...)
			if got := run(args, strings.NewReader(""), &out, &errs); got != c.want {
				t.Errorf("exit code %d, want %d\n%s%s", got, c.want, out.String(), errs.String())
			}
		})
	}
}

// A typing error is reported with what was wrong, and what to do: in an empty folder, and in one with a small
// configuration.
func TestMistyped(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, filepath.Join(dir, name))
	}
	writeConfig(t, "small.hcl", fmt.Sprintf("plugin \"readfile\" {\n  command = [%q]\n}\n",
		filepath.Join(bin, "toolhost-plugin-readfile")))
	writeConfig(t, "empty.hcl", "")
	writeConfig(t, "other.hcl", "plugin \"other\" {\n  command = [\"./other\"]\n}\n")
	for _, c := range []struct {
		args     string
		want     int
		reported string
	}{
		{"discover", 2, "toolhost: there is no configuration at config.hcl or "},
		{"help nosuch", 2, "there is no command \"nosuch\"; `toolhost --help` lists them"},
		{"help plugin lck", 2, `there is no command "lck"; did you mean lock?`},
		{"help call x", 2, `toolhost call has no commands of its own, and so no "x"`},
		{"help plugin lock", 0, "Usage:\n  toolhost plugin lock"},
		{"completion bsh", 2, "did you mean bash"},
		{"completion", 0, "toolhost completion [command]"},
		{"policy explan", 2, "did you mean explain?"},
		{"approvals revok", 2, "did you mean revoke?"},
		{"approvals list", 2, "`toolhost approvals` alone lists the remembered approvals"},
		{"--version", 0, "toolhost 0.1.0-dev ("},
		{"discover --version", 2, "unknown flag: --version; `toolhost version` shows the versions"},
		{"serve --stop --upgrade", 2, "toolhost: --stop and --upgrade exclude each other; give one of them\n"},
		{"serve --drain 30", 2, `toolhost: --drain must be a duration such as 30s, not "30"`},
		{"history search --at-least long", 2, `--at-least must be a duration such as 30s, not "long"`},
		{"approvals nothing", 2, "`toolhost approvals --help` lists them"},
		{"approvals revoke", 2, "name the answers to revoke by their IDs"},
		{"discover --frmat json", 2, `unknown flag: --frmat; did you mean "--format"?`},
		{"discover --cofig x", 2, `did you mean "--config"?`},
		{"discover --zzzzzzzz", 2, "unknown flag: --zzzzzzzz; `toolhost discover --help` lists the flags"},
		{"audit tail -n abc", 2, "toolhost: invalid argument \"abc\" for \"-n, --lines\" flag; `toolhost audit tail " +
			"--help` lists the flags\n"},
		{"audit tail", 2, "there is no record yet: "},
		{"audit show", 2, "use it as: toolhost audit show CALL [FILE]\n"},
		{"trust a b", 2, "use it as: toolhost trust [FILE]"},
		{"trust", 2, "there is no config.hcl to trust; name the file that is meant: toolhost trust FILE"},
		{"trust --list", 0, "nothing is trusted\n"},
		{"trust --revoke small.hcl", 0, "small.hcl was not trusted; `toolhost trust --list` lists what is\n"},
		{"--config= discover", 2, "toolhost: --config is empty; write --config FILE, or leave it out"},
		{"--workdir= call readfile__list", 2, "toolhost: --workdir is empty; write --workdir FOLDER, or leave it out"},
		{"--config small.hcl call x__y --profile=", 2, "--profile is empty; write --profile PROFILE, or leave it out"},
		{"--config small.hcl discover --profile=", 2, "--profile is empty"},
		{"call x__y --session=", 2, "--session is empty; write --session SESSION, or leave it out"},
		{"mcp --http=", 2, "--http is empty; write --http ADDRESS, or leave it out"},
		{"plugin check --junit= x", 2, "--junit is empty; write --junit FILE, or leave it out"},
		{"plugin check --plugin-config= x", 2, "--plugin-config is empty; write --plugin-config OBJECT, or leave it out"},
		{"history search --tool=", 2, "--tool is empty; write --tool TOOL, or leave it out"},
		{"--config other.hcl trust", 0, "other.hcl is trusted until it changes\n"},
		{"trust --revoke other.hcl", 0, "other.hcl is not trusted\n"},
		{"--config empty.hcl discover", 0, "empty.hcl leads to none; this line leads to all that are in the folder:\n  " +
			"plugin_dirs = [\""},
		{"--config empty.hcl status", 0, "no plugins: "},
		{"--config small.hcl discover --search zzqq", 0, "no tool fits \"zzqq\"\n"},
		{"--config small.hcl call nosuch__tool", 2, "`toolhost discover` lists the tools.\n"},
		{"--config small.hcl policy explain nosuch__tool", 2, "`toolhost discover` lists the tools.\n"},
		{"plugin run ./nosuch", 4, "toolhost: plugin \"nosuch\": " + filepath.Join(dir, "nosuch") + " cannot be run"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(strings.Fields(c.args), strings.NewReader(""), &out, &errs)
			if reported := out.String() + errs.String(); code != c.want || !strings.Contains(reported, c.reported) {
				t.Errorf("exit code %d, want %d with %q, not\n%s", code, c.want, c.reported, reported)
			}
		})
	}
}

// An empty argument is none: trust and audit would take the usual file.
func TestEmptyArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	writeConfig(t, "config.hcl", "")
	for _, words := range [][]string{{"trust"}, {"trust", "--revoke"}, {"audit", "verify"}, {"audit", "tail"},
		{"mcp", "import"}, {"plugin", "install"}, {"plugin", "check"}, {"plugin", "run"}, {"approvals", "revoke"}} {
		var out, errs bytes.Buffer
		code := run(append(words, ""), strings.NewReader(""), &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), "use it as: toolhost") || out.Len() > 0 {
			t.Errorf("%s: exit code %d\n%s%s", words, code, out.String(), errs.String())
		}
	}
}

// A near name is suggested for a misspelt sub-command, of each command that has some, also if it does something alone.
func TestMisspeltCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	var all func(cmd *cobra.Command)
	all = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			all(sub)
			if !sub.IsAvailableCommand() { // hidden, or cobra's help
				continue
			}
			var out, errs bytes.Buffer
			args := append(strings.Fields(cmd.CommandPath())[1:], sub.Name()+"x")
			code := run(args, strings.NewReader(""), &out, &errs)
			_, near, _ := strings.Cut(errs.String(), "did you mean ")
			if code != exitUsage || !strings.Contains(near, sub.Name()) {
				t.Errorf("%s: exit code %d\n%s%s", args, code, out.String(), errs.String())
			}
		}
	}
	all(newRoot(newTerminal(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})))
}

// A missing program is reported in one line, without mentioning starts.
func TestPluginRunOfNothing(t *testing.T) {
	var out, errs bytes.Buffer
	run([]string{"plugin", "run", "./nosuch"}, strings.NewReader(""), &out, &errs)
	if strings.Count(errs.String(), "\n") != 1 || out.Len() > 0 {
		t.Errorf("%s%s", out.String(), errs.String())
	}
}

// A failure to save is reported with its purpose.
func TestTrustCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	writeConfig(t, "config.hcl", "")
	writeConfig(t, "file", "")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "file"))
	var out, errs bytes.Buffer
	code := run([]string{"trust", "--revoke"}, strings.NewReader(""), &out, &errs)
	if reported := errs.String(); code != 2 ||
		!strings.Contains(reported, "the list of trusted files cannot be changed: ") ||
		!strings.Contains(reported, "--config FILE") {
		t.Errorf("exit code %d\n%s", code, reported)
	}
}

// Without a current folder tools have no work folder, unless another one is named.
func TestNoCurrentFolder(t *testing.T) {
	config, work, gone := filepath.Join(t.TempDir(), "config.hcl"), t.TempDir(), filepath.Join(t.TempDir(), "gone")
	writeConfig(t, config, fmt.Sprintf("plugin_dirs = [%q]\n", bin))
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args     []string
		want     int
		reported string
	}{
		{[]string{"call", "readfile__list"}, 2, "the current folder cannot be found"},
		{[]string{"trust", "--revoke", "x"}, 2, "toolhost: the current folder cannot be found: getwd: no such file or directory\n" +
			"  Go to a folder that exists"},
		{[]string{"plugin", "list"}, 0, " the work folder cannot be found: getwd: "},
		{[]string{"plugin", "check", "./x"}, 2, "toolhost: the current folder cannot be found: getwd: "},
		{[]string{"--workdir", work, "call", "readfile__list"}, 0, ""},
	} {
		var out, errs bytes.Buffer
		if code := run(append([]string{"--config", config}, c.args...), strings.NewReader(""), &out, &errs); code != c.want ||
			!strings.Contains(out.String()+errs.String(), c.reported) {
			t.Errorf("%s: exit code %d\n%s%s", c.args, code, out.String(), errs.String())
		}
	}
}

func TestEscapedJSONKeepsItsMeaning(t *testing.T) {
	for _, text := range []string{"a\u202eb", "a\U000e0041b", "a\U000e0100b", "a\u200bb", "a\tb"} {
		shown := escapeJSON(`"` + text + `"`)
		var got string
		if err := json.Unmarshal([]byte(shown), &got); err != nil || got != text || strings.ContainsFunc(shown, unsafeInJSON) {
			t.Errorf("%q: %s: %q, %v", text, shown, got, err)
		}
	}
}
