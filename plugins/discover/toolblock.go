package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

const maxBlocks = 200

// A toolBlock is what the operator writes of one tool: a command line with places for the arguments.
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
		raws = nil
		for _, item := range items(raw) {
			raws = append(raws, item)
		}
	}
	if len(raws) > maxBlocks {
		return invalidConfig("there are %d tool blocks, at most %d are allowed; print so many tools with a discovery_command", len(raws), maxBlocks)
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

// unread words why a block could not be read.
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

// bind makes the tool of the block.
func (b *toolBlock) bind(name string, s *settings) (t sdk.BoundTool, err error) {
	if fit := fitName(name); fit != name {
		return t, fmt.Errorf("the name must be of small letters, digits, - and _, at most %d; %q would do", maxName, fit)
	}
	if strings.TrimSpace(b.Description) == "" {
		return t, errors.New("description is missing: say what the tool does and when to use it; models choose by it")
	}
	l, err := b.line(name, s)
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
	t.Tool = sdk.Tool{Name: name, Title: b.Title, Description: strings.TrimSpace(b.Description), InputSchema: schema, Category: "configured",
		CostTier: b.CostTier, Timeout: l.timeout + 10*time.Second,
		Hints: sdk.Hints{ReadOnly: b.ReadOnly, Destructive: b.Destructive, Idempotent: b.Idempotent, OpenWorld: b.OpenWorld}}
	t.Handler = s.lineHandler(l)
	return t, t.Check()
}

// schema is the block's own, or what params are short for.
func (b *toolBlock) schema() (json.RawMessage, error) {
	switch {
	case b.Schema != nil && b.Params != nil:
		return nil, errors.New("it has params and a schema; keep one of the two")
	case b.Schema != nil && kind(b.Schema) != "an object":
		return nil, fmt.Errorf("schema must be an object, not %s", kind(b.Schema))
	case b.Schema != nil:
		return inputSchema(map[string]json.RawMessage{"parametersJsonSchema": b.Schema})
	}
	return paramsSchema(b.Params)
}
