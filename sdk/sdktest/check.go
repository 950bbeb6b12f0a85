package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/sdk"
)

// schemas are those of a plugin, each compiled once.
type schemas struct {
	mu       sync.Mutex
	compiled map[string]*schema.Schema
}

// validate checks a document against a schema, as a host does. Err says what is wrong with the schema.
func (s *schemas) validate(against, document json.RawMessage, foreign bool) (invalid *schema.Invalid, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, there := s.compiled[string(against)]
	if !there {
		if c, err = compile(against, foreign); err != nil {
			return nil, err
		}
		if s.compiled == nil {
			s.compiled = map[string]*schema.Schema{}
		}
		s.compiled[string(against)] = c
	}
	return c.Validate(document), nil
}

// compile compiles a schema as a host does, which takes a foreign one that it cannot use for none.
func compile(raw json.RawMessage, foreign bool) (*schema.Schema, error) {
	if !foreign {
		return schema.Compile(raw)
	}
	if s, err := schema.CompileForeign(raw); err == nil {
		return s, nil
	}
	return schema.Compile(json.RawMessage(`{"type":"object"}`))
}

// objectOf returns {} for empty arguments or an empty configuration, as a host does.
func objectOf(document json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(document)) == 0 {
		return json.RawMessage("{}")
	}
	return document
}

// checkArguments returns the result of a call whose arguments a host would refuse, or nil. Err says that a host
// would not offer the tool at all.
func (p *Plugin) checkArguments(tool *sdk.Tool, arguments json.RawMessage) (*sdk.Result, error) {
	if err := tool.Check(); err != nil {
		return nil, fmt.Errorf("a host would leave it out: %w", err)
	}
	invalid, err := p.schemas.validate(tool.InputSchema, arguments, tool.ForeignSchema)
	if err != nil {
		return nil, fmt.Errorf("a host would leave it out: its input schema %w", err)
	}
	if invalid == nil {
		return nil, nil
	}
	return &sdk.Result{Error: &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments",
		Message: fmt.Sprintf("the arguments of %s do not fit: %s; nothing was run", tool.Name, invalid)}}, nil
}

// checkOutput says what is wrong with a structured result, which a host would drop.
func (p *Plugin) checkOutput(tool *sdk.Tool, result *sdk.Result) error {
	if tool.OutputSchema == nil || result.Error != nil {
		return nil //nolint:nilerr // a failed call need not have a structured result
	}
	if result.Structured == nil {
		return errors.New("it has an output schema, but its result has nothing in Structured; return sdk.JSON(value), or " +
			"declare no OutputSchema")
	}
	if tool.TextIsJSON && (len(result.Content) != 1 || result.Content[0].Text != string(result.Structured)) {
		return errors.New("it has TextIsJSON, and the text of its result is not the JSON of Structured; return " +
			"sdk.JSON(value), or leave out TextIsJSON")
	}
	invalid, err := p.schemas.validate(tool.OutputSchema, result.Structured, false)
	switch {
	case err != nil:
		return fmt.Errorf("a host would leave it out: its output schema %w", err)
	case invalid != nil:
		return fmt.Errorf("a host would drop its structured result, which does not fit the output schema: %w", invalid)
	}
	return nil
}

// Configure hands the plugin its configuration, a JSON object, after checking it against the schema that the plugin
// publishes, as a host does. The error says its error, or why the plugin refuses it.
func (p *Plugin) Configure(ctx context.Context, config json.RawMessage, workdir string) error {
	p.configured.Store(true)
	if p.unchecked {
		return p.client.Configure(ctx, config, workdir, nil)
	}
	d, err := p.Describe(ctx)
	if err != nil {
		return err
	}
	if config = objectOf(config); len(d.ConfigSchema) > 0 { // otherwise the plugin says that it takes none
		if config, err = schema.CheckConfig(d.ConfigSchema, config, nil); err != nil {
			return err
		}
	}
	return p.client.Configure(ctx, config, workdir, nil)
}

// checkConfigured says that a host would not use the plugin, which was given no configuration and needs some.
func (p *Plugin) checkConfigured(d *sdk.Description) error {
	if len(d.ConfigSchema) == 0 || p.configured.Load() {
		return nil
	}
	invalid, err := p.schemas.validate(d.ConfigSchema, json.RawMessage("{}"), false)
	if err != nil || invalid == nil {
		return nil //nolint:nilerr // Configure says it
	}
	return fmt.Errorf("it has no configuration, and a host would not use it: %w; call MustConfigure first", invalid)
}
