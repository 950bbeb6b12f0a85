//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secretValue is a secret whose beginning is searched for in all output and files of toolhost. It is long, so that
// messages cut it.
const (
	secretValue = "sk-MARKER-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789"
	secretPart  = "sk-MARKER"
	secretVar   = "TEST_MARKED"
)

// places are configurations with a value by reference, REF, in each place that accepts one. BIN is the folder of the
// programs.
var places = map[string]string{
	"config string":     `plugin "shell" { config { shell = REF } }`,
	"config wrong type": `plugin "shell" { config { max_output_bytes = REF } }`,
	"config template":   `plugin "shell" { config { shell = "x ${REF}" } }`,
	"config attribute":  `plugin "shell" { config = { shell = REF, max_jobs = "x ${REF}" } }`,
	"config key":        `plugin "shell" { config = { (REF) = "x" } }`,
	"config nested":     `plugin "shell" { config { interpreters = { bash = [REF], sh = { a = REF } } } }`,
	"config unknown":    `plugin "shell" { config { shel = REF } }`,
	"config block":      `plugin "shell" { config { interpreters { python = REF } } }`,
	"config refused": "plugin \"p\" {\n command = [\"BIN/toolhost-plugin-discover\"]\n config { discovery_command " +
		"= \"'${REF}\" }\n }",
	"config of a command": "plugin \"p\" {\n command = [\"BIN/toolhost-plugin-discover\"]\n config { discovery_command " +
		"= \"no-such-program ${REF}\" }\n }",
	"no configuration":    "plugin \"edit\" { config { a = REF } }",
	"env value":           `plugin "shell" { env = { KEY = REF } }`,
	"env name":            `plugin "shell" { env = { (REF) = "x" } }`,
	"argument":            `plugin "p" { command = ["BIN/toolhost-plugin-shell", REF, "--x=${REF}"] }`,
	"program":             `plugin "p" { command = [REF] }`,
	"program in a folder": `plugin "p" { command = ["./${REF}/x"] }`,
	"printed": `plugin "p" { command = ["/bin/sh", "-c", "echo $KEY; echo $KEY >&2; exit 3", REF], env = { ` +
		`KEY = REF } }`,
	"sha256":            `plugin "shell" { sha256 = REF }`,
	"dir":               `plugin "shell" { dir = REF }`,
	"start timeout":     `plugin "shell" { start_timeout = REF }`,
	"number":            `plugin "shell" { restart { max_crashes = REF } }`,
	"level":             `plugin "shell" { sandbox { level = REF } }`,
	"write":             `plugin "shell" { sandbox { write = [REF] } }`,
	"wrapper":           `plugin "shell" { sandbox { wrapper = [REF, REF] } }`,
	"plugin_dirs":       `plugin_dirs = ["BIN", REF]`,
	"discovery":         `plugin_discovery "d" { command = ["/bin/sh", "-c", "echo $0 >&2; exit 1", REF] }`,
	"discovery program": `plugin_discovery "d" { command = [REF] }`,
	"discovery timeout": "plugin_discovery \"d\" {\n command = [\"/bin/true\"]\n timeout = REF\n }",
	"description":       "plugin \"shell\" { tool \"exec\" {\n description = \"Runs ${REF}\"\n timeout = \"1m\"\n } }",
	"tool timeout":      `plugin "shell" { tool "exec" { timeout = REF } }`,
	"reason": "policy \"project\" { rule \"r\" {\n tools = [\"shell__*\"]\n effect = \"deny\"\n reason = " +
		"\"for ${REF}\"\n } }",
	"tools": "policy \"project\" { rule \"r\" {\n tools = [REF]\n effect = \"deny\"\n } }",
	"when": "policy \"project\" { rule \"r\" {\n tools = [\"shell__*\"]\n when = args.command == REF\n " +
		"effect = \"deny\"\n } }",
	"allowed": "policy \"project\" { rule \"r\" {\n tools = [\"shell__*\"]\n commands {\n allow = [REF]\n " +
		"otherwise = \"ask\"\n }\n } }",
	"effect":   "policy \"project\" { rule \"r\" {\n tools = [\"shell__*\"]\n effect = REF\n } }",
	"profile":  `profile "review" { tools = [REF] }`,
	"included": `profile "review" { include = [REF] }`,
	"mode":     `approval { mode = REF }`,
	"secrets":  `audit { secrets = [REF, 7] }`,
	"lock":     `lock = REF`,
	"default":  `defaults { timeout = REF }`,
}

// references are the ways to reference a value.
var references = map[string]struct{ locals, ref string }{
	"variable":        {"", "env." + secretVar},
	"function":        {"", `env("` + secretVar + `", "x")`},
	"local of it":     {"locals { key = env." + secretVar + " }\n", "local.key"},
	"part of a local": {"locals { key = { inner = [\"a\", env." + secretVar + "] } }\n", "local.key.inner[1]"},
}

// printingCommands are the commands whose output a person or a program reads.
var printingCommands = [][]string{
	{"validate"}, {"trust", "CONFIG"}, {"discover"}, {"discover", "--format", "gemini"}, {"status", "--format",
		"json"}, {"status"},
	{"policy", "explain", "shell__exec", `{"command":"ls"}`}, {"policy", "explain", "--format", "json", "shell__exec",
		`{"command":"ls"}`},
	{"call", "shell__exec", `{"command":"true"}`, "--approve", "always"}, {"call", "p__exec", `{"command":"true"}`,
		"--format", "json"},
	{"plugin", "lock", "--yes"}, {"doctor"}, {"audit", "tail"},
}

func TestValuesByReferenceAreNeverShown(t *testing.T) {
	t.Setenv(secretVar, secretValue)
	for name, text := range places {
		for way, reference := range references {
			// each place in at least two ways, all ways over all places
			if way != "variable" && len(name)%4 != len(way)%4 || testing.Short() && (way != "variable" || len(name)%3 != 0) {
				continue
			}
			t.Run(name+"/"+way, func(t *testing.T) {
				checkSecretNotPrinted(t, reference.locals+strings.ReplaceAll(strings.ReplaceAll(text, "REF", reference.ref), "BIN",
					bin))
			})
		}
	}
}

// A local that is written in the file is a reference too, where a plugin gets it.
func TestLocalsGivenToPluginsAreNeverShown(t *testing.T) {
	for i, name := range []string{"config string", "config wrong type", "config template", "config key", "config nested",
		"config refused", "env value", "argument", "printed"} {
		if testing.Short() && i%3 != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			checkSecretNotPrinted(t, "locals { key = \""+secretValue+"\" }\n"+
				strings.ReplaceAll(strings.ReplaceAll(places[name], "REF",
					"local.key"), "BIN", bin))
		})
	}
}

// checkSecretNotPrinted runs each command with the configuration, and fails if one of them prints the secret.
func checkSecretNotPrinted(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, filepath.Join(dir, name))
	}
	work, file := filepath.Join(dir, "work"), filepath.Join(dir, "config.hcl")
	if !strings.Contains(text, "plugin_dirs") {
		text = fmt.Sprintf("plugin_dirs = [%q]\n", bin) + text
	}
	if !strings.Contains(text, "audit {") {
		text += "\naudit { content = true }"
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range printingCommands {
		var out, said bytes.Buffer
		args = append([]string{"--config", file, "--workdir", work, "--log-level", "debug"}, args...)
		if args[len(args)-1] == "CONFIG" {
			args[len(args)-1] = file
		}
		code := run(args, strings.NewReader(""), &out, &said)
		if strings.Contains(out.String()+said.String(), secretPart) {
			t.Errorf("%s\n%v (exit code %d) tells it:\n%s\n%s", text, args[6:], code, lineWith(out.String()),
				lineWith(said.String()))
		}
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || path == file {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(secretPart)) {
			t.Errorf("%s\n%s has it: %s", text, path, lineWith(string(content)))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func lineWith(text string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, secretPart) {
			return line
		}
	}
	return ""
}
