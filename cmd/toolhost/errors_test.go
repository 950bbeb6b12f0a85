//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/sdk"
)

// jsonCommands are the commands with --format json. The test fails when one is missing.
var jsonCommands = map[string]struct {
	args     string // enough to run it
	most     int    // arguments it takes; -1 for any number
	lines    bool   // it prints lines, of which an error is the last
	noConfig bool   // it does without a configuration
	reports  bool   // its answer itself says what is wrong
}{
	"approvals":         {noConfig: true},
	"approvals waiting": {lines: true, noConfig: true},
	"approvals watch":   {lines: true, noConfig: true},
	"audit tail":        {most: 1, lines: true},
	"call":              {args: "readfile__list", most: 1},
	"discover":          {reports: true},
	"doctor":            {reports: true},
	"history search":    {most: -1, lines: true},
	"history show":      {args: "CALL", most: 1},
	"history stats":     {most: -1},
	"plugin check":      {args: "PLUGINS/toolhost-plugin-readfile", most: 1, noConfig: true, reports: true},
	"plugin list":       {reports: true},
	"plugin run":        {args: "readfile", most: 1, lines: true},
	"policy explain":    {args: "readfile__list", most: 1},
	"status":            {reports: true},
	"validate":          {reports: true},
	"version":           {noConfig: true},
}

// commandsWithJSON are the commands that a user finds.
func commandsWithJSON(cmd *cobra.Command) (out []string) {
	if f := cmd.Flag("format"); f != nil {
		if c, is := f.Value.(choice); is && slices.Contains(c.words, "json") {
			out = append(out, strings.TrimPrefix(cmd.CommandPath(), "toolhost "))
		}
	}
	for _, sub := range cmd.Commands() {
		out = append(out, commandsWithJSON(sub)...)
	}
	return out
}

// A program that asked for JSON reads JSON, whatever is wrong: the answer, or an error whose code says the exit code.
func TestErrorsAsJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, filepath.Join(t.TempDir(), name))
	}
	good := fmt.Sprintf("audit {}\nplugin \"readfile\" {\n  command = [%q]\n}\n", filepath.Join(bin, "toolhost-plugin-readfile"))
	for file, text := range map[string]string{
		"good/config.hcl": good, "broken.hcl": "plugin \"x\" {\n  comand = []\n}\n", "binary.hcl": "\xff\xfe\x00",
		"gone.hcl/x": "", "untrusted/config.hcl": good,
		"locked/config.hcl": good, "locked/toolhost.lock.hcl": "plugin \"readfile\" {\n  sha256 = {\n    linux_amd64 = \"" +
			strings.Repeat("0", 64) + "\"\n  }\n}\n",
		"badlock/config.hcl": good, "badlock/toolhost.lock.hcl": "plugin \"readfile\" {\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		writeConfig(t, file, text)
	}
	var names []string
	for name := range jsonCommands {
		names = append(names, name)
	}
	slices.Sort(names)
	found := commandsWithJSON(newRoot(newTerminal(strings.NewReader(""), io.Discard, io.Discard)))
	slices.Sort(found)
	if !slices.Equal(found, names) {
		t.Fatalf("the commands with --format json are\n%q, and the test has\n%q", found, names)
	}
	for _, name := range names {
		c := jsonCommands[name]
		words := append(strings.Fields(name), strings.Fields(strings.ReplaceAll(c.args, "PLUGINS", bin))...)
		usage := [][]string{{"--nosuch"}, {"--nosuch=1"}, {"-Z"}, {"--workdir"}, {"--log-level", "loud"}, {"--log-level="},
			{"--standalone=maybe"}, {"--workdir", "nosuch"}, {"--no-color", "--format", "jsn", "--format", "json"}}
		if c.most >= 0 {
			usage = append(usage, []string{"ab", "cd", "ef"})
		}
		for _, wrong := range usage {
			for _, args := range [][]string{slices.Concat(words, []string{"--format", "json"}, wrong),
				slices.Concat(words, wrong[:len(wrong)-1], []string{wrong[len(wrong)-1], "--format=JSON"}),
				slices.Concat([]string{"--format", "json"}, words, wrong)} {
				if wrong[0] == "--workdir" && len(wrong) == 1 && args[len(args)-1] != "--workdir" {
					continue // the next word is its value
				}
				checkJSON(t, name, dir, args, exitUsage)
			}
		}
		if c.args != "" {
			checkJSON(t, name, dir, append(strings.Fields(name), "--format", "json"), exitUsage)
		}
		if name == "plugin check" { // it reads no configuration of toolhost's
			for _, flag := range [][]string{{"--plugin-config", "["}, {"--config", "{}"}} {
				checkJSON(t, name, dir, slices.Concat(words, []string{"--format", "json"}, flag), exitUsage)
			}
			continue
		}
		words = append(words, "--format", "json")
		for _, config := range []string{"nosuch.hcl", "broken.hcl", "binary.hcl", "gone.hcl", "badlock/config.hcl"} {
			want := exitUsage
			switch {
			case c.noConfig || name == "audit tail" && config == "badlock/config.hcl":
				want = -1
			case strings.HasPrefix(name, "history") && config == "badlock/config.hcl":
				want = -1
			}
			checkJSON(t, name, dir, slices.Concat([]string{"--config", config}, words), want)
		}
		for _, config := range []string{"good/config.hcl", "locked/config.hcl"} {
			checkJSON(t, name, dir, slices.Concat([]string{"--config", config}, words), -1)
		}
		checkJSON(t, name, filepath.Join(dir, "untrusted"), words, -1)
		if slices.Contains([]string{"call", "policy explain"}, name) {
			for _, tool := range []string{"nosuch__tool", "readfile__nosuch", "", "x\ny", "mcp://x/y"} {
				checkJSON(t, name, dir, append(strings.Fields(name), "--config", "good/config.hcl", "--format", "json", tool),
					exitUsage)
			}
			for _, arguments := range []string{"{", "[]", "path", "{\"path\":1}", "path=1", "nosuch=1", "path:={", "path=@nosuch"} {
				checkJSON(t, name, dir, slices.Concat([]string{"--config", "good/config.hcl"}, strings.Fields(name),
					[]string{"--format", "json", "readfile__read", arguments}), -1)
			}
		}
	}
}

// checkJSON runs a command in a folder, and checks its standard output. Any exit code will do if want is negative.
func checkJSON(t *testing.T, name, dir string, args []string, want int) {
	t.Helper()
	t.Chdir(dir)
	var out, errs bytes.Buffer
	code := run(args, strings.NewReader(""), &out, &errs)
	c := jsonCommands[name]
	var last struct {
		Error *sdk.Error `json:"error"`
	}
	documents := 0
	for d := json.NewDecoder(&out); ; documents++ {
		var raw json.RawMessage
		if err := d.Decode(&raw); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Errorf("%q: standard output is not JSON: %v", args, err)
			return
		}
		last.Error = nil
		_ = json.Unmarshal(raw, &last) // lists are answers
	}
	e := last.Error
	switch {
	case want >= 0 && code != want:
		t.Errorf("%q: exit code %d, not %d\n%s", args, code, want, errs.String())
	case documents != 1 && !c.lines:
		t.Errorf("%q: exit code %d, %d documents", args, code, documents)
	case code != exitOK && e == nil && !c.reports:
		t.Errorf("%q: exit code %d without an error", args, code)
	case e != nil && (codeFor(e) != code || e.Name == "" || e.Message == "" || e.Suggestion == ""):
		t.Errorf("%q: exit code %d with the error %+v", args, code, e)
	case code == exitUsage && errs.Len() == 0 && name != "call" && !c.reports: // a call's result says it all
		t.Errorf("%q: nothing on standard error", args)
	}
}

// A list of problems ends where no person reads on.
func TestManyProblemsAreCounted(t *testing.T) {
	var said strings.Builder
	g := &options{terminal: newTerminal(nil, io.Discard, &said)}
	g.printErrors(slices.Repeat([]error{errors.New("broken")}, 300)...)
	if lines := strings.Count(said.String(), "\n"); lines != 101 || !strings.HasSuffix(said.String(),
		"and 200 more problems\n") {
		t.Errorf("%d lines", lines)
	}
}
