package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A line is a command line with places for arguments.
type line struct {
	program  command
	words    []template
	stdin    template
	allJSON  bool // all arguments go to standard input
	dashes   bool
	timeout  time.Duration
	setting  string
	required []string
}

func (b *toolBlock) line(name string, s *settings) (*line, error) {
	l := &line{dashes: b.AllowDash, setting: fmt.Sprintf("command of the tool %q", name)}
	var err error
	if l.program, err = readCommand("command", b.Command, s.workdir); err != nil {
		return nil, err
	}
	if l.program.none() {
		return nil, errors.New(`command is missing: name the program and its arguments, such as command = ["./bin/lint", "{{path}}"]`)
	}
	if l.words, err = templates(l.program.words); err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	if l.allJSON = b.Stdin == "json"; !l.allJSON {
		if l.stdin, err = parseTemplate(b.Stdin); err != nil {
			return nil, fmt.Errorf("stdin: %w", err)
		}
	}
	l.timeout = s.callTimeout
	if b.TimeoutSeconds != 0 {
		l.timeout, err = seconds("timeout_seconds", b.TimeoutSeconds, 0)
	}
	return l, err
}

// lineHandler runs the line for each call.
func (s *settings) lineHandler(l *line) sdk.Handler {
	return func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		j, err := l.job(r)
		if err != nil {
			return nil, err
		}
		return s.run(ctx, r, j)
	}
}

// check compares the names in the command with the arguments that the schema knows.
func (l *line) check(schema json.RawMessage) error {
	properties := object(object(schema)["properties"])
	for _, t := range append(slices.Clone(l.words), l.stdin) {
		for _, name := range t.names() {
			if err := known(name, properties); err != nil {
				return err
			}
			if whole := t.only() != "" && !slices.Equal(t, l.stdin); !whole && string(object(properties[name])["type"]) == `"array"` {
				return fmt.Errorf("{{%s}} is a list and cannot stand inside of a text; make it a word of its own, or use stdin = \"json\"", name)
			}
		}
	}
	_ = json.Unmarshal(object(schema)["required"], &l.required) // what is no list requires nothing
	return nil
}

func known(name string, properties map[string]json.RawMessage) error {
	switch _, there := properties[name]; {
	case there:
		return nil
	case len(properties) == 0:
		return fmt.Errorf("{{%s}} is no argument: the tool has none; describe it in params or schema", name)
	}
	return fmt.Errorf("{{%s}} is no argument; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
}

// fill gives the words for a call, the program first.
func (l *line) fill(raw json.RawMessage) ([]string, error) {
	f := filler{arguments: readArguments(raw), dashes: l.dashes}
	for _, t := range l.words {
		if err := f.fill(t); err != nil {
			return nil, err
		}
	}
	return f.words, nil
}

// job is what a call runs.
func (l *line) job(r *sdk.Request) (job, error) {
	j := job{timeout: l.timeout, setting: l.setting, timeSetting: "timeout_seconds of the tool"}
	if err := l.complete(r.Arguments); err != nil {
		return j, err
	}
	words, err := l.fill(r.Arguments)
	if err != nil {
		return j, err
	}
	j.command = command{words: words, program: l.program.program}
	j.input, err = l.input(r)
	return j, err
}

// complete refuses calls without what the schema requires. Hosts do so too; a command without it would be another one.
func (l *line) complete(raw json.RawMessage) error {
	there := readArguments(raw)
	for _, name := range l.required {
		if _, ok := there[name]; !ok {
			return refused("MissingArgument", name+" is missing", "Pass "+name+".")
		}
	}
	return nil
}

// input is what goes to the program's standard input, nil for nothing at all.
func (l *line) input(r *sdk.Request) ([]byte, error) {
	switch {
	case l.allJSON:
		return input(r), nil
	case l.stdin == nil:
		return nil, nil
	}
	text, err := (&filler{arguments: readArguments(r.Arguments)}).text(l.stdin)
	return []byte(text), err
}
