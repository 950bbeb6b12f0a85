//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

func scriptIn(t *testing.T, p *sdktest.Plugin, workdir string, args map[string]any) *sdk.Result {
	t.Helper()
	return callIn(t, p, "script", workdir, "", args)
}

func TestScript(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := sdktest.Start(t, newPlugin())
	for _, test := range []struct {
		name, needs string
		args        map[string]any
		want        string
	}{
		{"bash by default", "bash",
			map[string]any{"command": "for i in a \"b c\"; do\n  echo \"[$i]\"\ndone\n[[ x == x ]] && echo " +
				"${BASH_VERSION:+bash}"}, "[a]\n[b c]\nbash"},
		{"sh", "sh", map[string]any{"command": "echo sh \"$#\" \"$2\"", "interpreter": "sh",
			"args": []string{"1", "two words"}}, "sh 2 two words"},
		{"arguments that look like options", "bash",
			map[string]any{"command": `echo "$@"`, "args": []string{"-x", "--version"}}, "-x --version"},
		{"input stays free", "bash", map[string]any{"command": "read a\necho got $a", "stdin": "line\n"}, "got line"},
		{"no start-up files, no functions", "bash",
			map[string]any{"command": "shopt login_shell; echo $-", "interpreter": "bash"},
			"login_shell    \toff\nhB\nExit code: 0"},
		{"exit code", "bash", map[string]any{"command": "set -e\nfalse\necho no"}, "(no output)\nExit code: 1"},
		{"environment and folder", "bash",
			map[string]any{"command": "echo $A; basename $PWD", "env": map[string]string{"A": "b"}, "workdir": "sub"}, "b\nsub"},
		{"python3", "python3", map[string]any{"command": "import sys, mine\nprint(sys.argv[1:], mine.word)\nprint('err', " +
			"file=sys.stderr)", "interpreter": "python3", "args": []string{"x"}},
			"['x'] found\n[stderr]\nerr"},
		{"node", "node", map[string]any{"command": "console.log(process.argv.slice(2), require('mine').word)",
			"interpreter": "node", "args": []string{"x"}}, "[ 'x' ] found"},
		{"perl", "perl", map[string]any{"command": "print \"@ARGV\\n\";", "interpreter": "perl", "args": []string{"x", "y"}},
			"x y"},
		{"line ends of Windows in Python", "python3", map[string]any{"command": "if True:\r\n  print(1)\r\n",
			"interpreter": "python3"}, "1"},
		{"some line ends of Windows", "bash", map[string]any{"command": "cat <<x\na\r\nx"}, "a\r"},
		{"a line for the same interpreter", "bash", map[string]any{"command": "#!/bin/sh\necho yes"}, "yes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := exec.LookPath(test.needs); err != nil {
				return // a test machine need not have all of them
			}
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"mine.py": "word = 'found'\n", "mine.js": "exports.word = 'found'\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := scriptIn(t, p, dir, test.args)
			if r.Error != nil {
				t.Fatalf("error %+v", r.Error)
			}
			if got := contentOf(t, r); got != strings.TrimSuffix(test.want, "\nExit code: 0") {
				t.Errorf("content %q, want %q", got, test.want)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*", "*script*")); len(left) > 0 {
		t.Errorf("scripts stay behind: %q", left)
	}
}

func TestScriptRefused(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	p.MustConfigure(t, `{"interpreters":["bash","python3","no-such-language"]}`)
	for _, test := range []struct {
		name string
		args map[string]any
		code sdk.Code
		is   string
		want string
	}{
		{"blank", map[string]any{"command": " \n"}, sdk.CodeInvalidArgs, "InvalidArguments",
			"command is blank; give the text of the script; nothing was run"},
		{"a code block", map[string]any{"command": "```sh\nls\n```"}, sdk.CodeInvalidArgs, "InvalidArguments",
			"command is a Markdown code block; give the text of the script without the lines of ```; nothing was run"},
		{"line ends of Windows", map[string]any{"command": "ls\r\nif true\r\nthen\r\nls\r\nfi"}, sdk.CodeInvalidArgs,
			"InvalidArguments", "the script has lines that end with CRLF"},
		{"a byte order mark", map[string]any{"command": "\uFEFFls\nls\n"}, sdk.CodeInvalidArgs, "InvalidArguments",
			"the script begins with a byte order mark"},
		{"NUL", map[string]any{"command": "a\x00"}, sdk.CodeInvalidArgs, "InvalidArguments",
			"the script has a NUL character"},
		{"NUL in an argument", map[string]any{"command": "a", "args": []string{"\x00"}}, sdk.CodeInvalidArgs,
			"InvalidArguments", "args has a NUL character"},
		{"too long", map[string]any{"command": strings.Repeat("#\n", maxScript/2+1)}, sdk.CodeInvalidArgs, "InvalidArguments",
			"the script has 524290 bytes, at most 524288 are allowed"},
		{"reserved variable", map[string]any{"command": "a", "env": map[string]string{"BASH_ENV": "x"}}, sdk.CodeInvalidArgs,
			"InvalidArguments", "BASH_ENV may not be set here"},
		{"python for bash", map[string]any{"command": "#!/usr/bin/env python3\nprint(1)"}, sdk.CodeInvalidArgs,
			"InvalidArguments",
			"the first line asks for python3, but interpreter says bash; set interpreter, or leave the line out; nothing was " +
				"run"},
		{"not allowed", map[string]any{"command": "a", "interpreter": "perl"}, sdk.CodeTool, "InterpreterNotAllowed",
			`interpreter "perl" is not one that may be used here; nothing was run`},
		{"a path", map[string]any{"command": "a", "interpreter": "/bin/bash"}, sdk.CodeTool, "InterpreterNotAllowed",
			`"/bin/bash"`},
		{"not installed", map[string]any{"command": "a", "interpreter": "no-such-language"}, sdk.CodeTool,
			"InterpreterNotFound", "executable file not found in $PATH; nothing was run"},
		{"outside", map[string]any{"command": "a", "workdir": ".."}, sdk.CodeTool, "PathOutsideWorkspace", "nothing was run"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := scriptIn(t, p, t.TempDir(), test.args)
			wantError(t, r, test.code, test.is, test.want)
			if strings.HasPrefix(test.is, "Interpreter") && !strings.Contains(r.Error.Suggestion, "bash") {
				t.Errorf("suggestion %q", r.Error.Suggestion)
			}
		})
	}
}

func TestScriptWithoutAFolder(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	r := scriptIn(t, sdktest.Start(t, newPlugin()), t.TempDir(), map[string]any{"command": "true"})
	wantError(t, r, sdk.CodeTool, "ScriptNotWritten", "the script could not be written to a file: ", "; nothing was run")
}

func TestFirstLine(t *testing.T) {
	const set = "; set interpreter, or leave the line out; nothing was run"
	for _, test := range []struct{ line, interpreter, want string }{
		{"", "", ""},
		{"echo", "", ""},
		{"#!", "", ""},
		{"#!/bin/bash", "", ""},
		{"#! /usr/bin/env bash", "", ""},
		{"#!/usr/bin/env -S A=1 bash", "", ""},
		{"#!/usr/bin/env", "", ""},
		{"#!/bin/sh -e", "", "the first line has options (-e), which would not count; write them as a command, such as set " +
			"-e, and leave them out there; nothing was run"},
		{"#!/usr/bin/env -S bash -e -u", "sh",
			"the first line has options (-e -u), which would not count; write them as a command, such as set -e, and leave " +
				"them out there; nothing was run"},
		{"#!/usr/bin/python3.12", "", "the first line asks for python3.12, but interpreter says bash" + set},
		{"#!/usr/bin/env node", "", "the first line asks for node, but interpreter says bash" + set},
		{"#!/usr/bin/env -S node --foo", "perl", "the first line asks for node, but interpreter says perl" + set},
		{"#!/usr/bin/python", "python3", ""},
		{"#!/usr/bin/env -S A=1 python3 -u", "python3", ""},
	} {
		in := scriptArgs{Command: test.line + "\nx", Interpreter: test.interpreter}
		if got := in.check(); got == nil && test.want != "" || got != nil && got.Error() != test.want {
			t.Errorf("%q for %q: %v, want %q", test.line, test.interpreter, got, test.want)
		}
	}
}

func TestPreviewOfAScript(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	for _, test := range []struct {
		name          string
		args          map[string]any
		effect, level string
		says          string
	}{
		{"reading", map[string]any{"command": "ls\ncat a\n"}, "", "low", "Would run:\n  ls\n  cat a\nRisk: low"},
		{"deleting", map[string]any{"command": "ls\nrm a\n", "interpreter": "bash"}, "ask", "high", "it deletes"},
		{"for sh", map[string]any{"command": "ls", "interpreter": "sh"}, "ask", "medium", "another way than bash"},
		{"python3", map[string]any{"command": "ls", "interpreter": "python3"}, "ask", "high",
			"Would run python3 code:\n  ls\nRisk: high\n  it runs python3 code that is not looked into"},
		{"hidden characters", map[string]any{"command": "print('\u202e')", "interpreter": "python3"}, "ask", "high",
			`print('\u202e')`},
		{"long", map[string]any{"command": strings.Repeat("x\n", 2000), "interpreter": "perl"}, "ask", "high",
			"and 2000 bytes more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := p.Preview(t.Context(),
				&sdk.Request{CallID: "1", Tool: "script", Arguments: encodeArgs(t, test.args),
					Workdir: filepath.Join(t.TempDir(), "w")})
			if err != nil {
				t.Fatal(err)
			}
			var f previewData
			if err := json.Unmarshal(got.Structured, &f); err != nil {
				t.Fatal(err)
			}
			if got.Effect != test.effect || f.Risk.Level != test.level || !strings.Contains(got.Content[0].Text, test.says) {
				t.Errorf("effect %q because %q, level %q:\n%s", got.Effect, got.Reason, f.Risk.Level, got.Content[0].Text)
			}
		})
	}
}

func TestPreviewOfAJob(t *testing.T) {
	got := previewOf(t, sdktest.Start(t, newPlugin()), t.TempDir(),
		map[string]any{"command": "ls", "background": true, "pty": true})
	want := "Would run:\n  ls\nIn the background: it continues after the call, until it ends or is stopped.\nOn a " +
		"terminal: stdin is typed into whatever reads from it.\nRisk: low"
	if got.Content[0].Text != want || got.Effect != "" {
		t.Errorf("effect %q:\n%s", got.Effect, got.Content[0].Text)
	}
}
