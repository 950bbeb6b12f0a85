package shelltool

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/shellcmd"
)

func TestWhere(t *testing.T) {
	for arguments, want := range map[string]string{
		`{}`: "/project /project [] false",
		`{"workdir":"a","env":{"B":"1","A":""},"stdin":"x"}`: "/project/a /project [A B] true",
		`{"workdir":"/etc","stdin":""}`:                      "/etc /project [] false",
		`{"workdir":""}`:                                     "/project /project [] false",
	} {
		got, err := contextOf(&policy.Query{Arguments: []byte(arguments), Workdir: "/project"})
		if text := strings.Join([]string{got.Dir, got.Root, "[" + strings.Join(got.Env, " ") + "]",
			map[bool]string{true: "true", false: "false"}[got.Stdin]}, " "); err != nil || text != want {
			t.Errorf("%s: %s and the error %v, want %s", arguments, text, err, want)
		}
	}
}

func TestJudgeScripts(t *testing.T) {
	everyday := shellcmd.Rules{Allow: [][]string{{"ls"}, {"python3"}, {"mylang"}}, Deny: [][]string{{"sudo"}, {"perl"}},
		ReadOnly: true}
	free := shellcmd.Rules{Deny: everyday.Deny, Otherwise: "allow"}
	strict := shellcmd.Rules{ReadOnly: true, Otherwise: "deny"}
	for name, c := range map[string]struct {
		rules     shellcmd.Rules
		arguments string
		want      policy.Effect
		says      string
	}{
		"a script for bash is a command": {everyday, `{"command":"ls\ncat a\n","interpreter":"bash"}`, policy.Allow,
			""},
		"so is one for sh": {everyday, `{"command":"ls","interpreter":"sh"}`, policy.Allow, ""},
		"and one for the default": {everyday, `{"command":"ls\ngit status","interpreter":null}`, policy.Allow,
			""},
		"each line counts": {everyday, `{"command":"ls\nsudo ls\n","interpreter":"bash"}`, policy.Deny,
			"sudo"},
		"arguments are not known": {everyday, `{"command":"ls\n\"$1\" x","args":["rm"],"interpreter":"bash"}`,
			policy.Ask, "$1"},
		"a script for python is not read": {everyday, `{"command":"ls","interpreter":"python3"}`, policy.Ask,
			"python3"},
		"nor when all is allowed":        {free, `{"command":"ls","interpreter":"python3"}`, policy.Ask, "python3"},
		"nor when the interpreter is":    {everyday, `{"command":"ls","interpreter":"mylang"}`, policy.Ask, "mylang"},
		"a denied interpreter":           {everyday, `{"command":"1","interpreter":"perl"}`, policy.Deny, "perl"},
		"a denied one, all else allowed": {free, `{"command":"1","interpreter":"perl"}`, policy.Deny, "perl"},
		"only what reads": {strict, `{"command":"print(1)","interpreter":"python3"}`, policy.Deny,
			"python3"},
		"an interpreter with words":             {free, `{"command":"1","interpreter":"ls '; ls"}`, policy.Ask, ""},
		"an interpreter with hidden characters": {free, `{"command":"1","interpreter":"ba\u200bsh"}`, policy.Ask, ""},
		"on a terminal what reads may do more": {strict, `{"command":"git log","pty":true}`, policy.Deny,
			"\"git log\": on a terminal (pty) it may do more than read"},
		"also for rules of one's own": {everyday, `{"command":"git log","pty":true}`, policy.Ask,
			"on a terminal (pty)"},
		"not without one":                     {strict, `{"command":"git log","pty":false}`, policy.Allow, ""},
		"what rules list may have a terminal": {everyday, `{"command":"ls","pty":true}`, policy.Allow, ""},
		"but nothing is typed into it": {everyday, `{"command":"ls","pty":true,"stdin":"!rm a"}`, policy.Ask,
			"typed"},
		"also where all is allowed": {free, `{"command":"less a","pty":true,"stdin":"!rm a"}`, policy.Ask,
			"typed"},
		"a denied command on a terminal": {everyday, `{"command":"sudo ls","pty":true}`, policy.Deny, "sudo"},
		"no command":                     {strict, `{"interpreter":"python3"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := Judge(&policy.Query{Category: Category, Arguments: []byte(c.arguments), Workdir: "/project"}, Command,
				c.rules)
			if err != nil || j.Effect != c.want || !strings.Contains(j.Reason, c.says) {
				t.Errorf("%s because %q, %v; want %s", j.Effect, j.Reason, err, c.want)
			}
		})
	}
	if _, err := Judge(&policy.Query{Arguments: []byte(`{"command":"ls","interpreter":1}`)}, Command,
		everyday); err == nil {
		t.Error("an interpreter that is no string is no error")
	}
}

func TestAnswersAboutScripts(t *testing.T) {
	for arguments, want := range map[string]bool{
		`{"command":"go test ./..."}`:                         true,
		`{"command":"go test ./...","interpreter":"bash"}`:    true,
		`{"command":"go test ./...","interpreter":"python3"}`: false,
	} {
		q := &policy.Query{Category: Category, Arguments: []byte(arguments), Workdir: "/project"}
		if got := Prefix(q) != nil; got != want {
			t.Errorf("%s: the prefix %q", arguments, Prefix(q))
		}
		if got := Allows(q, [][]string{{"go", "test"}}); got != want {
			t.Errorf("%s: allowed by a prefix: %v", arguments, got)
		}
	}
}
