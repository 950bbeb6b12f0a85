package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// An Answer is a yes of a person that was kept for later calls, written in a file that people can read and change.
type Answer struct {
	ID   string // of letters, digits, "_" and "-", at most 64
	Tool string // the full name, such as "shell__exec"
	// Scope says what the yes stands for: "arguments", "prefix" or "tool".
	Scope string
	// Prefix are the words that a command begins with, for the scope "prefix".
	Prefix []string
	// Arguments is a JSON object, for the scope "arguments". It keeps its meaning, not its bytes.
	Arguments json.RawMessage
	// Workdir binds the yes to a work folder; with "", as in files of before, it holds nowhere. Definition (a SHA-256) and Caller bind it to
	// the tool's definition and to a caller, and "" to none that has one.
	Workdir, Definition, Caller string
	// Created is when the person answered, to the second.
	Created time.Time
}

var answerNaming = naming{lazily(`^[A-Za-z0-9_-]{1,64}$`), `an ID has at most 64 letters, digits, "_" and "-"`}

var scopes = []string{"arguments", "prefix", "tool"}

// maxAnswers bounds the file of answers, in bytes.
const maxAnswers = 1 << 20

// LoadAnswers reads the answers in a file, in its order. A file that is not there has none; one that others than its
// owner can write to is refused. The error is an *Error when the file has mistakes.
func LoadAnswers(path string) ([]Answer, error) {
	src, err := readAnswers(path)
	if err != nil || src == nil {
		return nil, err
	}
	return parseAnswers(path, src)
}

func readAnswers(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("answers: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("answers: %s is not a regular file; remove it", path)
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("answers: others can write to %s, so what it allows is not what you have allowed; look through it, and chmod 600", path)
	}
	return readStart(path, maxAnswers)
}

func parseAnswers(path string, src []byte) ([]Answer, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	r := newReader(abs, display(path, abs), src)
	r.most = maxAnswers
	var out []Answer
	if body := r.parse(); body != nil {
		f, ids := r.open(body, "answers", ""), seen{}
		for _, b := range f.blocks("always") {
			out = append(out, f.answer(b, ids))
		}
		f.done()
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return out, nil
}

// answer reads an always block.
func (f *fields) answer(b *hclsyntax.Block, ids seen) Answer {
	id, in := f.named(b, answerNaming, ids)
	a := Answer{
		ID: id, Tool: in.text("tool", checkFullName), Scope: in.oneOf("scope", scopes),
		Arguments: in.argumentsOf("arguments"),
		Workdir:   in.text("workdir", checkPath), Definition: strings.ToLower(in.text("definition", checkSHA256)),
		Caller: in.text("caller", checkLine), Created: in.moment("created"),
	}
	a.Prefix, _ = in.texts("prefix", checkLine)
	in.require("tool", `"shell__exec"`, b)
	in.require("scope", `"prefix"; the scopes are arguments, prefix and tool`, b)
	in.scoped(a, b)
	in.done()
	return a
}

// scoped makes sure that an answer says what its scope needs.
func (f *fields) scoped(a Answer, b *hclsyntax.Block) {
	if a.Scope == "arguments" {
		f.require("arguments", `"{}"`, b)
	} else if f.given["arguments"] {
		f.wrong(b.Body.Attributes["arguments"].NameRange, "arguments are for the scope arguments").hint("remove them")
	}
	switch {
	case a.Scope == "prefix":
		f.require("prefix", `["git", "push"]`, b)
		if f.given["prefix"] && a.Prefix != nil && len(a.Prefix) == 0 {
			f.wrong(b.Body.Attributes["prefix"].Expr.Range(), "prefix is empty, and would stand for all commands").hint("write the first words")
		}
	case f.given["prefix"]:
		f.wrong(b.Body.Attributes["prefix"].NameRange, "a prefix is for the scope prefix").hint("remove it")
	}
}

func checkFullName(s string) (problem, hint string) {
	if plugin, tool, found := strings.Cut(s, "__"); !found || plugin == "" || tool == "" || len(s) > maxToolName {
		return "is no full name of a tool", "full names are PLUGIN__TOOL"
	}
	return checkLine(s)
}

// argumentsOf reads a JSON object in a string, nil when there is none.
func (f *fields) argumentsOf(name string) json.RawMessage {
	text := f.text(name, func(s string) (problem, hint string) {
		var object map[string]any
		if json.Unmarshal([]byte(s), &object) != nil || object == nil {
			return "is no JSON object", `write "{}" for no arguments`
		}
		return "", ""
	})
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// moment reads a time, the zero one when there is none.
func (f *fields) moment(name string) (t time.Time) {
	f.text(name, func(s string) (problem, hint string) {
		var err error
		if t, err = time.Parse(time.RFC3339, s); err != nil {
			return "is no time", `times look like "2026-11-20T15:04:05Z"`
		}
		return "", ""
	})
	return t
}
