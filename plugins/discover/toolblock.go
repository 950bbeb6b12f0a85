package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

const maxBlocks = 200

// A toolBlock is the operator's block of one tool: a command line with places for the arguments.
type toolBlock struct {
	Labels         []string                   `json:"labels"` // the name
	Title          string                     `json:"title"`
	Description    string                     `json:"description"`
	Command        json.RawMessage            `json:"command"`
	Params         map[string]json.RawMessage `json:"params"` // short for a schema
	Schema         json.RawMessage            `json:"schema"`
	Stdin          string                     `json:"stdin"` // "" is none, "json" all arguments, anything else a template
	TimeoutSeconds float64                    `json:"timeout_seconds"`
	AllowDash      bool                       `json:"allow_dash"`
	ReadOnly       *bool                      `json:"read_only"`
	Destructive    *bool                      `json:"destructive"`
	Idempotent     *bool                      `json:"idempotent"`
	OpenWorld      *bool                      `json:"open_world"`
	CostTier       sdk.CostTier               `json:"cost_tier"`
}

// readTools reads the tool blocks: one is an object, several are an array.
func (s *settings) readTools(c *config) error {
	raws := []json.RawMessage{c.Tool}
	switch raw := bytes.TrimSpace(c.Tool); {
	case len(raw) == 0 || string(raw) == "null":
		return nil
	case raw[0] == '[':
		raws = items(raw)
	}
	if len(raws) > maxBlocks {
		return invalidConfig("there are %d tool blocks, at most %d are allowed; print so many tools with a discovery_command",
			len(raws), maxBlocks)
	}
	for i, raw := range raws {
		if err := s.readTool(i, raw); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) readTool(i int, raw json.RawMessage) error {
	var b toolBlock
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(&b)
	if len(b.Labels) != 1 {
		return invalidConfig("tool block %d: write it with the tool's name, as tool \"NAME\" { ... }", i+1)
	}
	name := b.Labels[0]
	if err != nil {
		return invalidConfig("tool %q: %s", name, unread(err))
	}
	if slices.ContainsFunc(s.tools, func(t sdk.BoundTool) bool { return t.Name == name }) {
		return invalidConfig("tool %q is there twice", name)
	}
	t, err := b.bind(name, s)
	if err != nil {
		same := fmt.Sprintf("tool %q: ", name)
		return invalidConfig("%s%s", same, strings.TrimPrefix(err.Error(), same))
	}
	s.tools = append(s.tools, t)
	return nil
}

func unread(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s cannot be a %s", e.Field, e.Value)
	}
	field, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return err.Error()
	}
	var all []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[toolBlock]()) {
		if name := f.Tag.Get("json"); name != "labels" {
			all = append(all, name)
		}
	}
	return fmt.Sprintf("there is no setting %s; there are: %s", field, strings.Join(all, ", "))
}

func (b *toolBlock) bind(name string, s *settings) (t sdk.BoundTool, err error) {
	if fit := toolNames.Fit(name); fit != name {
		return t, fmt.Errorf("the name must be of small letters, digits, - and _, at most %d; %q would do", toolNames.Max,
			fit)
	}
	if strings.TrimSpace(b.Description) == "" {
		return t, errors.New("description is missing: say what the tool does and when to use it; models choose by it")
	}
	l, err := b.commandLine(name, s)
	if err != nil {
		return t, err
	}
	schema, err := b.schema()
	if err != nil {
		return t, err
	}
	if err := l.check(schema); err != nil {
		return t, err
	}
	t.Tool = sdk.Tool{Name: name, Title: b.Title, Description: strings.TrimSpace(b.Description), InputSchema: schema,
		Category: "configured", CostTier: b.CostTier, Timeout: l.timeout + 10*time.Second,
		Hints: sdk.Hints{ReadOnly: b.ReadOnly, Destructive: b.Destructive, Idempotent: b.Idempotent, OpenWorld: b.OpenWorld}}
	t.Handler = func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		j, err := l.programCall(r)
		if err != nil {
			return nil, err
		}
		return s.run(ctx, r, j)
	}
	return t, t.Check()
}

// schema is the block's own, or what params are short for.
func (b *toolBlock) schema() (json.RawMessage, error) {
	switch {
	case b.Schema != nil && b.Params != nil:
		return nil, errors.New("it has params and a schema; keep one of the two")
	case b.Schema != nil && rawjson.Kind(b.Schema) != "an object":
		return nil, fmt.Errorf("schema must be an object, not %s", rawjson.Kind(b.Schema))
	case b.Schema != nil:
		return inputSchema(map[string]json.RawMessage{"parametersJsonSchema": b.Schema})
	}
	return paramsSchema(b.Params)
}

// A commandLine is a command line with places for arguments.
type commandLine struct {
	program  command
	words    []template
	stdin    template
	allJSON  bool // all arguments go to standard input
	dashes   bool
	timeout  time.Duration
	setting  string
	required []string
}

func (b *toolBlock) commandLine(name string, s *settings) (*commandLine, error) {
	l := &commandLine{dashes: b.AllowDash, setting: fmt.Sprintf("command of the tool %q", name)}
	var err error
	if l.program, err = readCommand("command", b.Command, s.workdir); err != nil {
		return nil, err
	}
	if l.program.none() {
		return nil, errors.New(`command is missing: name the program and its arguments, such as command = ["./bin/lint", ` +
			`"{{path}}"]`)
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

// check compares the names in the command with the arguments that the schema knows.
func (l *commandLine) check(schema json.RawMessage) error {
	properties := object(object(schema)["properties"])
	for _, t := range append(slices.Clone(l.words), l.stdin) {
		for _, name := range t.names() {
			if err := known(name, properties); err != nil {
				return err
			}
			if whole := t.only() != "" && !slices.Equal(t, l.stdin); !whole &&
				string(object(properties[name])["type"]) == `"array"` {
				return fmt.Errorf("{{%s}} is a list and cannot stand inside of a text; make it a word of its own, or use stdin = "+
					"\"json\"", name)
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
		return fmt.Errorf("{{%s}} is not an argument: the tool has none; describe it in params or schema", name)
	}
	return fmt.Errorf("{{%s}} is not an argument; there are: %s", name,
		strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
}

// programCall returns the program that a call runs. It refuses calls without what the schema requires: hosts do so
// too, but a command without it would be another one.
func (l *commandLine) programCall(r *sdk.Request) (j programCall, err error) {
	f := filler{arguments: readArguments(r.Arguments), dashes: l.dashes}
	for _, name := range l.required {
		if _, ok := f.arguments[name]; !ok {
			return j, refused("MissingArgument", name+" is missing", "Pass "+name+".")
		}
	}
	for _, t := range l.words {
		if err := f.fill(t); err != nil {
			return j, err
		}
	}
	j = programCall{command: command{words: f.words, program: l.program.program}, timeout: l.timeout,
		setting: l.setting, timeSetting: "timeout_seconds of the tool"}
	switch {
	case l.allJSON:
		j.input = input(r)
	case l.stdin != nil:
		var text string
		text, err = f.text(l.stdin)
		j.input = []byte(text)
	}
	return j, err
}
