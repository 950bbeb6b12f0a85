package config

import (
	"strings"
)

// checkAny accepts what a process can be given at all.
func checkAny(s string) (problem, hint string) {
	if strings.ContainsRune(s, 0) {
		return "contains a NUL character", "remove it; no process can be given one"
	}
	return "", ""
}

// checkPath accepts a file or folder by its look.
func checkPath(s string) (problem, hint string) {
	switch {
	case s == "":
		return "is empty", `write "." for the folder of this file`
	case s == "~" || strings.HasPrefix(s, "~/"):
		return `starts with "~", which only shells know`, `write "${env.HOME}` + visible(s[1:]) + `"`
	}
	return checkAny(s)
}

func checkEnvName(s string) (problem, hint string) {
	if s == "" || strings.ContainsAny(s, "= \t\r\n\x00") {
		return "is no name of a variable", `such a name is not empty and has no "=", space or NUL`
	}
	return "", ""
}

func checkSHA256(s string) (problem, hint string) {
	if len(s) == 64 && strings.Trim(s, "0123456789abcdefABCDEF") == "" {
		return "", ""
	}
	if rest, found := strings.CutPrefix(s, "sha256:"); found && len(rest) == 64 {
		return `must not start with "sha256:"`, "keep the 64 hex digits only"
	}
	return "must be 64 hex digits", "sha256sum PROGRAM prints them"
}

// command reads a program and its arguments. It gives nil when there is none, or when it was wrong and reported; empty
// says what to do about a list without items.
func (f *fields) command(empty string) []string {
	args, ok := f.texts("command", checkAny)
	if !ok {
		return nil
	}
	at := f.body.Attributes["command"].Expr.Range()
	if len(args) == 0 {
		f.wrong(at, "command is empty").Hint = empty
		return nil
	}
	if problem, hint := checkPath(args[0]); problem != "" {
		if args[0] == "" {
			hint = "the first item is the program to run"
		}
		f.wrong(itemRange(f.body.Attributes["command"].Expr, 0), "the program of command %s", problem).Hint = hint
		return nil
	}
	args[0] = f.config.program(args[0])
	return args
}
