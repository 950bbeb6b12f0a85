//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Gemini CLI does not start with a discovery command that fails, whatever is wrong.
func TestDiscoveryForGeminiNeverFails(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("TOOLHOST_CONFIG", "")
	for name, c := range map[string]struct {
		config string // "" is none
		args   []string
		why    string
	}{
		"no configuration": {"", nil, "there is no configuration at "},
		"not trusted":      {"plugin_dirs = []\n", nil, "config.hcl is not trusted, so nothing of it was run"},
		"broken":           {"plugin \"x\" {", nil, "config.hcl:1"},
		"a mistake":        {"plugin_dirs = 5\n", []string{"--config", "config.hcl"}, "config.hcl:1"},
		"another file":     {"", []string{"--config", "gone.hcl"}, "gone.hcl"},
		"no such profile":  {"plugin_dirs = []\n", []string{"--config", "config.hcl", "--profile", "nosuch"}, "nosuch"},
		"no such plugin":   {"plugin_dirs = []\n", []string{"--config", "config.hcl", "--plugin", "nosuch"}, "nosuch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if c.config != "" {
				writeConfig(t, "config.hcl", c.config)
			}
			var out, errs strings.Builder
			code := run(append([]string{"discover", "--format", "gemini"}, c.args...), strings.NewReader(""), &out, &errs)
			if code != exitOK || out.String() != "[]\n" || !strings.Contains(errs.String(), c.why) ||
				!strings.Contains(errs.String(), "the list is empty, so that Gemini CLI starts") {
				t.Errorf("exit code %d, %q\n%s", code, out.String(), errs.String())
			}
		})
	}
}

// geminiSettings are the settings for Gemini CLI's settings.json that the discovery prints.
func geminiSettings(t *testing.T, printed string) (discovery, call string) {
	t.Helper()
	found := regexp.MustCompile(`(?s)"tools": (\{.*?\n  \})`).FindStringSubmatch(printed)
	if found == nil {
		t.Fatalf("no settings in:\n%s", printed)
	}
	var s struct{ DiscoveryCommand, CallCommand string }
	if err := json.Unmarshal([]byte(found[1]), &s); err != nil {
		t.Fatalf("%v in:\n%s", err, printed)
	}
	return s.DiscoveryCommand, s.CallCommand
}

// The printed settings work unchanged, in any folder, without the person's variables, and only with the trusted
// configuration.
func TestGeminiSettings(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "it's a project")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.Getenv("TMPDIR")}
	toolhost := func(in string, words ...string) (stdout, stderr string, err error) {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdin = in, env, strings.NewReader(`{"path":"note.txt","content":"here"}`)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		err = cmd.Run()
		return out.String(), errs.String(), err
	}
	program, config := filepath.Join(bin, "toolhost"), filepath.Join(dir, "config.hcl")
	writeConfig(t, config, fmt.Sprintf("plugin_dirs = [%q]\nprofile \"some\" {\n  exclude = [\"edit__multi\"]\n}\n", bin))
	if _, errs, err := toolhost(dir, program, "trust"); err != nil {
		t.Fatal(errs)
	}
	listed, printed, err := toolhost(dir, program, "discover", "--format", "gemini", "--profile", "some", "--workdir", ".")
	if err != nil {
		t.Fatal(err, printed)
	}
	discovery, call := geminiSettings(t, printed)
	words, err := geminiWords(discovery)
	if err != nil {
		t.Fatal(err)
	}
	again, printedAgain, err := toolhost(home, words...)
	if err != nil || again != listed || !strings.Contains(again, `"edit__write"`) ||
		strings.Contains(again, `"edit__multi"`) {
		t.Errorf("the printed discovery command gives %v, %.300s\n%s", err, again, printedAgain)
	}
	if _, sameCall := geminiSettings(t, printedAgain); sameCall != call {
		t.Errorf("the call command is %s, and then %s", call, sameCall)
	}
	if out, errs, err := toolhost(home, call, "edit__write"); err != nil || errs != "" {
		t.Errorf("the printed call command gives %v, %s%s", err, out, errs)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "note.txt")); string(text) != "here" {
		t.Errorf("it wrote %q, %v", text, err)
	}
	if info, err := os.Stat(call); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the script is %v, %v", info, err)
	}
	if _, errs, _ := toolhost(home, call, "edit__multi"); !strings.Contains(errs, "E_TOOL_NOT_IN_CATALOG") {
		t.Errorf("the profile does not hold: %s", errs)
	}

	writeConfig(t, config, fmt.Sprintf("plugin_dirs = [%q]\n", bin)) // another person's
	if out, errs, err := toolhost(home, words...); err != nil || out != "[]\n" ||
		!strings.Contains(errs, "is not trusted") {
		t.Errorf("a file that has changed gives %v, %.300s\n%s", err, out, errs)
	}
	if out, errs, err := toolhost(home, call, "edit__write"); err == nil || out != "" ||
		!strings.Contains(errs, "is not trusted") {
		t.Errorf("a call by a file that has changed gives %v, %s%s", err, out, errs)
	}

	_, printed, err = toolhost(home, program, "--config", config, "discover", "--format", "gemini") // named by the user
	if discovery, _ := geminiSettings(t, printed); err != nil || strings.Contains(discovery, "--check-trust") {
		t.Errorf("%v, %s", err, discovery)
	}
}

// The client's approval allows calls that ask, but none that are denied, always asked about, or never to be asked
// about.
func TestYesOfTheClient(t *testing.T) {
	const rules = `
policy "user" {
  rule "not-that" {
    tools  = ["edit__write"]
    when   = args.path == "no.txt"
    effect = "deny"
  }
  rule "each-time" {
    tools  = ["edit__write"]
    when   = args.path == "ask.txt"
    effect = "always_ask"
  }
}
`
	for _, c := range []struct{ approval, approve, path, want string }{
		{"", "client", "yes.txt", ""},
		{"", "client", "no.txt", "E_DENIED"},
		{"", "client", "ask.txt", "E_APPROVAL_UNAVAILABLE"},
		{"", "ask", "yes.txt", "E_APPROVAL_UNAVAILABLE"},
		{"", "", "yes.txt", "E_APPROVAL_UNAVAILABLE"},
		{"approval {\n  mode = \"never_ask\"\n}\n", "client", "yes.txt", "E_DENIED"},
		{"approval {\n  mode = \"plan\"\n}\n", "client", "yes.txt", "E_DENIED"},
		{"approval {\n  mode = \"auto_edit\"\n}\n", "client", "yes.txt", ""},
		{"approval {\n  mode = \"auto_edit\"\n}\n", "client", "ask.txt", "E_APPROVAL_UNAVAILABLE"},
	} {
		o := newOneCall(t, "", rules+c.approval)
		args := []string{"edit__write"}
		if c.approve != "" {
			args = append(args, "--approve", c.approve)
		}
		code, _, errs := o.run(callProgram, fmt.Sprintf(`{"path":%q,"content":"x"}`, c.path), args...)
		_, wrong := os.Stat(filepath.Join(o.dir, c.path))
		if (code == exitOK) != (c.want == "") || (wrong == nil) != (c.want == "") || !strings.Contains(errs, c.want) {
			t.Errorf("%+v: exit code %d\n%s", c, code, errs)
		}
	}
	if code, _, errs := newOneCall(t, "", "").run("toolhost", "", "call", "edit__write", "{}", "--approve",
		"client"); code != exitUsage {
		t.Errorf("a person is no client: exit code %d\n%s", code, errs)
	}
}

func TestShellWords(t *testing.T) {
	for _, words := range [][]string{{"a", "b c"}, {"it's", `"x"`, "$HOME", "*", "#no", "", "a;b|c", "\\", "ä ö"},
		{"--x=y", "~/z"}} {
		out, err := exec.Command("sh", "-c", "for w in "+shellWords(words)+`; do printf '%s\n' "$w"; done`).Output()
		if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); err != nil ||
			strings.Join(got, "|") != strings.Join(words, "|") {
			t.Errorf("%q gives %q, %v", words, got, err)
		}
	}
}
