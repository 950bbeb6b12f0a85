//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

func TestBrokenDiscovery(t *testing.T) {
	for _, test := range []struct {
		name    string
		command string // of the configuration; "" is bin/get_tools
		script  string // the body of bin/get_tools; "" is none
		more    string // members of the configuration
		want    string // behind "no tools: discovery_command COMMAND: "; DIR is the work folder
	}{
		{name: "no such file", want: "DIR/bin/get_tools cannot be run: no such file"},
		{name: "not in the PATH", command: "no-such-program-anywhere --list",
			want: "no-such-program-anywhere cannot be run: not found in PATH"},
		{name: "in the folder, not in the PATH", command: "plain",
			want: "plain cannot be run: not found in PATH; for the file of that name in the work folder write ./plain"},
		{name: "not executable", command: "./plain",
			want: "DIR/plain cannot be run: permission denied: it is not executable"},
		{name: "a folder", command: "./bin", want: "DIR/bin cannot be run: is a directory"},
		{name: "no interpreter", command: "bin/lost",
			want: "DIR/bin/lost cannot be run: its interpreter does not exist: /no/such/shell"},
		{name: "Windows line ends", command: "bin/crlf",
			want: `DIR/bin/crlf cannot be run: its interpreter does not exist: "/bin/sh\r", since its lines end with CR LF, ` +
				"as on Windows; save it with LF alone"},
		{name: "no program", command: "bin/text",
			want: "DIR/bin/text cannot be run: exec format error: neither a script with a #! line nor a program for this " +
				"machine"},
		{name: "failure", script: "echo '[]'; echo one >&2; echo two >&2; exit 3",
			want: "it failed with exit code 3; stderr: one | two"},
		{name: "failure without a word", script: "exit 9", want: "it failed with exit code 9; it printed nothing on stderr"},
		{name: "failure with many words", script: "i=0; while [ $i -lt 9 ]; do i=$((i+1)); echo $i >&2; done; exit 1",
			want: "it failed with exit code 1; stderr: 1 | 2 | 3 | 4 | 5 | ..."},
		{name: "failure with a long line", script: "head -c 5000 /dev/zero | tr '\\000' x >&2; exit 1",
			want: "it failed with exit code 1; stderr: " + strings.Repeat("x", 1024) + " | ..."},
		{name: "signal", script: "echo oops >&2; kill -KILL $$", want: "it was ended by SIGKILL; stderr: oops"},
		{name: "timeout", script: "echo working >&2; sleep 600", more: `,"timeout_seconds":1.5`,
			want: "it was not done after 1.5s and was stopped; stderr: working"},
		{name: "too much output", script: "yes", more: `,"max_discovery_bytes":1000000`,
			want: "it printed more than 1000000 bytes and was stopped"},
		{name: "no output", script: "true", want: "it printed nothing; it must print a JSON array of tools"},
		{name: "only blanks", script: "echo; echo ' '", want: "it printed nothing; it must print a JSON array of tools"},
		{name: "no JSON", script: "echo; echo Usage: get_tools",
			want: `it printed no valid JSON: invalid character 'U' looking for beginning of value at byte 2; it begins with ` +
				`"Usage: get_tools"`},
		{name: "mistake in the JSON", script: `printf '[{"name":"a",}]'`,
			want: `it printed no valid JSON: invalid character '}' looking for beginning of object key string at byte 14; it ` +
				`begins with "[{\"name\":\"a\",}]"`},
		{name: "half the JSON", script: `printf '[{"name":'`,
			want: `it printed no valid JSON: unexpected end of JSON input at byte 9; it begins with "[{\"name\":"`},
		{name: "two values", script: `echo '[] []'`,
			want: `it printed no valid JSON: invalid character '[' after top-level value at byte 4; it begins with "[] []"` +
				"; only the array may be on standard output, print other text on standard error"},
		{name: "a warning before the JSON", script: `echo 'npm WARN old'; echo '[{"name":"a"}]'`,
			want: `it printed no valid JSON: invalid character 'p' in literal null (expecting 'u') at byte 2; it begins with ` +
				`"npm WARN old\n[{\"name\":\"a\"}]"` +
				"; only the array may be on standard output, print other text on standard error"},
		{name: "an object on each line", script: `echo '{"name":"a"}'; echo '{"name":"b"}'`,
			want: `it printed no valid JSON: invalid character '{' after top-level value at byte 14; it begins with ` +
				`"{\"name\":\"a\"}\n{\"name\":\"b\"}"; print one array with all tools`},
		{name: "object", script: `echo '{"functionDeclarations":[]}'`,
			want: "it printed an object; it must print a JSON array of tools"},
		{name: "string", script: `echo '"x"'`, want: "it printed a string; it must print a JSON array of tools"},
		{name: "number", script: `echo -5`, want: "it printed a number; it must print a JSON array of tools"},
		{name: "boolean", script: `echo true`, want: "it printed a boolean; it must print a JSON array of tools"},
		{name: "null", script: `echo null`, want: "it printed null; it must print a JSON array of tools"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProject(t)
			p.file(t, "plain", "#!/bin/sh\n", 0o644)
			p.file(t, "bin/lost", "#!/no/such/shell\n", 0o755)
			p.file(t, "bin/crlf", "#!/bin/sh\r\ntrue\r\n", 0o755)
			p.file(t, "bin/text", "just text\n", 0o755)
			if test.script != "" {
				p.script(t, "bin/get_tools", test.script)
			}
			if test.command == "" {
				test.command = "bin/get_tools"
			}
			began := time.Now()
			_, d := configured(t, `{"call_command":"bin/call_tool","discovery_command":"`+test.command+`"`+test.more+`}`)
			want := "no tools: discovery_command " + test.command + ": " + strings.ReplaceAll(test.want, "DIR", p.dir)
			if diff := cmp.Diff([]sdk.Notice{{Kind: sdk.Problem, Text: want}}, d.Notices); diff != "" || len(d.Tools) != 0 {
				t.Errorf("%d tools, notices (-want +got):\n%s", len(d.Tools), diff)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A host does without a plugin that is not ready in time, also without the tools that need no discovery.
func TestDiscoveryEndsBeforeItsHostGivesUp(t *testing.T) {
	p := newProject(t)
	p.script(t, "bin/get_tools", "echo working >&2; sleep 600")
	var c config
	err := json.Unmarshal([]byte(`{"discovery_command":"bin/get_tools","call_command":"x","tool":{"labels":["own"],`+
		`"description":"d","command":["true"]}}`), &c)
	if err != nil {
		t.Fatal(err)
	}
	k := newRefresher()
	defer k.close()
	if err := k.configure(deadline{t.Context(), time.Now().Add(5 * time.Second)}, p.dir, c); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(saying(t, sdktest.Start(t, k.plugin)), "\n")
	for _, want := range []string{"own\nonly the tools of the configuration: discovery_command bin/get_tools: it was " +
		"not done after ",
		"s and was stopped; the plugin's start_timeout leaves it no more, raise that; stderr: working"} {
		if !strings.Contains(said, want) {
			t.Errorf("it says %q, without %q", said, want)
		}
	}
}

func TestDiscoveryCommandRuns(t *testing.T) {
	p := newProject(t)
	t.Setenv("TOOLHOST_PLUGIN", "cookie")
	t.Setenv("PLUGIN_MIN_PORT", "1")
	t.Setenv("BASH_ENV", "/nowhere")
	t.Setenv("ENV", "/nowhere")
	t.Setenv("KEPT", "kept")
	// The script reports by its tools how it was run.
	p.script(t, "my tools/get", `cat >/dev/null
env | grep -E '^(TOOLHOST_|PLUGIN_|BASH_ENV|ENV)' && exit 1
[ "$PWD" = "`+p.dir+`" ] && [ "$KEPT" = kept ] || exit 2
echo warning >&2
printf '\357\273\277 [{"name":"%s_args_%s"}]\n' $# "$(echo "$*" | tr ' ' _)"`)
	for _, config := range []string{
		`{"call_command":"true","discovery_command":"'my tools/get' a 'b c'"}`,
		`{"call_command":"true","discovery_command":["my tools/get","a","b c"]}`,
		`{"call_command":["true"],"discovery_command":["` + p.dir + `/my tools/get","a","b c"]}`,
	} {
		_, d := configured(t, config)
		if len(d.Tools) != 1 || d.Tools[0].Name != "2_args_a_b_c" || len(d.Notices) != 0 {
			t.Errorf("%s: %+v, notices %q", config, d.Tools, d.Notices)
		}
	}
}

func TestDiscoveryLeavesNothingBehind(t *testing.T) {
	p := newProject(t)
	l := newLifeline(t)
	p.script(t, "bin/get_tools", l.leftBehind()+`exec 8>"`+l.path+`"; echo '[{"name":"one"}]'`)
	_, d := configured(t, usual)
	if len(d.Tools) != 1 {
		t.Errorf("notices %q", d.Notices)
	}
	l.wantEnd(t)
}

func TestManyTools(t *testing.T) {
	p := newProject(t)
	var list []map[string]any
	for i := range 2000 {
		list = append(list, map[string]any{"name": fmt.Sprintf("tool-%d", i), "description": strings.Repeat("x", 4000)})
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	p.prints(t, string(text))
	_, d := configured(t, usual)
	if len(d.Tools) < 700 || len(d.Tools) > 800 {
		t.Errorf("%d tools of 4 KB fit in 3 MiB", len(d.Tools))
	}
	want := fmt.Sprintf(`the tool "tool-%d" is left out: with it, the definitions of all tools would have more than `+
		`3145728 bytes`, len(d.Tools))
	if len(d.Notices) != maxNotices+1 || d.Notices[0].Text != want {
		t.Errorf("%d notices, the first %q, want %q", len(d.Notices), d.Notices[0], want)
	}
	if got, want := d.Notices[maxNotices].Text,
		fmt.Sprintf("and %d more notices like these", 2000-len(d.Tools)-maxNotices); got != want {
		t.Errorf("the last notice is %q, want %q", got, want)
	}
}

func TestConfigureAnnouncesTheTools(t *testing.T) {
	newProject(t).prints(t, `[{"name":"one"}]`)
	c := started(t)
	changes := make(chan struct{}, 10)
	watching := make(chan error, 1)
	go func() { watching <- c.Watch(t.Context(), func() { changes <- struct{}{} }) }()
	await := func() {
		t.Helper()
		select {
		case <-changes:
		case err := <-watching:
			t.Fatal(err)
		case <-time.After(time.Minute):
			t.Fatal("no word of a change")
		}
	}
	await() // the watch stands
	configureHere(t, c, usual)
	await()
}
