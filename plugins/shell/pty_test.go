//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

func TestTerminal(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	for _, test := range []struct {
		name string
		args map[string]any
		want string
	}{
		{"there is one", map[string]any{"command": "test -t 0 && test -t 1 && test -t 2 && echo yes; stty size; echo $TERM"}, "yes\n24 80\nxterm-256color"},
		{"of a given size", map[string]any{"command": "stty size", "columns": 132, "rows": 50}, "50 132"},
		{"of a given kind", map[string]any{"command": "echo $TERM", "env": map[string]string{"TERM": "dumb"}}, "dumb"},
		{"plain text", map[string]any{"command": `printf '\033[31mred\033[0m\n10%%\r20%%\rdone\n'`}, "red\ndone"},
		{"both outputs as one", map[string]any{"command": "echo a; echo b >&2; echo c"}, "a\nb\nc"},
		{"no line break at the end", map[string]any{"command": "printf 'a\nb'"}, "a\nb"},
		{"input is typed", map[string]any{"command": "stty -echo; read a; printf '\r'; read b; echo $b $a", "stdin": "1\n2\n"}, "2 1"},
		{"much input", map[string]any{"command": "stty -echo; wc -c", "stdin": strings.Repeat(strings.Repeat("x", 999)+"\n", 200)}, "200000"},
		{"input has an end", map[string]any{"command": "cat; echo end"}, "end"},
		{"no pager", map[string]any{"command": "echo $PAGER $GIT_PAGER"}, "cat cat"},
		{"but a given one", map[string]any{"command": "echo $PAGER", "env": map[string]string{"PAGER": "more"}}, "more"},
		{"exit code", map[string]any{"command": "exit 3"}, "(no output)\nExit code: 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.args["pty"] = true
			r := execIn(t, p, t.TempDir(), test.args)
			if r.Error != nil {
				t.Fatalf("error %+v", r.Error)
			}
			got := contentOf(t, r)
			if test.args["stdin"] != nil { // echoed, if it was typed before the echo was off
				got = got[max(0, strings.LastIndex(got, test.want)):]
			}
			if got != test.want {
				t.Errorf("content %q, want %q", got, test.want)
			}
			if o := outcomeOf(t, r); o.Stderr != "" {
				t.Errorf("stderr is %q", o.Stderr)
			}
		})
	}
}

func TestTerminalLeavesNothingBehind(t *testing.T) {
	l := newLifeline(t)
	r := execIn(t, sdktest.Start(t, newPlugin()), t.TempDir(), map[string]any{"pty": true, "command": l.leftBehind() + `exec 8>"` + l.path + `"; echo done`})
	if r.Error != nil || outcomeOf(t, r).Stdout != "done\n" {
		t.Fatalf("error %+v, %s", r.Error, r.Structured)
	}
	l.wantEnd(t)
}

func TestTerminalTimeout(t *testing.T) {
	l := newLifeline(t)
	r := execIn(t, sdktest.Start(t, newPlugin()), t.TempDir(), map[string]any{"pty": true, "timeout_seconds": 1,
		"command": `exec 9>"` + l.path + `"; printf 'half a line'; sleep 600`})
	wantError(t, r, sdk.CodeTimeout, "Timeout")
	if o := outcomeOf(t, r); o.Stdout != "half a line" || !o.TimedOut {
		t.Errorf("%+v", o)
	}
	l.wantEnd(t)
}

func TestBadTerminals(t *testing.T) {
	p := sdktest.Start(t, newPlugin()).Unchecked()
	for want, args := range map[string]map[string]any{
		"columns and rows are the size of a terminal, and there is none; set pty too": {"command": "true", "columns": 100},
		"the terminal is 1001 by 0; columns and rows must be from 1 to 1000":          {"command": "true", "pty": true, "columns": 1001},
		"stdin has a line of 1001 bytes, and a terminal takes at most 1000":           {"command": "true", "pty": true, "stdin": "a\n" + strings.Repeat("x", 1001) + "\nb"},
		"the terminal is 0 by -1": {"command": "true", "pty": true, "rows": -1},
	} {
		wantError(t, execIn(t, p, t.TempDir(), args), sdk.CodeInvalidArgs, "InvalidArguments", want, "; nothing was run")
	}
}
