package host

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/host/internal/toolsearch"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

// A Tool is a tool that the host offers, under its full name, PLUGIN__TOOL.
type Tool struct {
	sdk.Tool
	// Plugin is the label of the plugin.
	Plugin string
	// Invisible is how many invisible characters were removed from its descriptions: they may hide text from people.
	Invisible int
	// Unbelieved are the hints of a third party that the configuration does not trust. They make decisions stricter at
	// most; MCP clients receive them, since they do not trust them either. Hints are empty then.
	Unbelieved sdk.Hints
	// Unchecked says which parts of a foreign schema are not checked, and why.
	Unchecked []string
	// Aliases are other names that it may be called by.
	Aliases []string

	plugin         Plugin
	declared       *sdk.Tool              // the plugin's own definition, with the name that the plugin uses
	descriptionFor map[string]string      // see ToolOptions
	schemas        func() *schemas        // compiled at the first call
	siblings       func() map[string]bool // the arguments of all tools of the plugin; nil when they are not known
	searchDocument func() *toolsearch.Document
	hash           func() string            // of the definition
	arguments      func() *arguments.Schema // of the input schema
}

// MarshalJSON adds the plugin, the aliases, untrusted hints and unchecked parts to the definition.
func (t Tool) MarshalJSON() ([]byte, error) {
	definition, err := json.Marshal(t.Tool)
	if err != nil {
		return nil, err
	}
	first := sdk.Encode(struct {
		Plugin     string    `json:"plugin"`
		Aliases    []string  `json:"aliases,omitempty"`
		Unchecked  []string  `json:"unchecked,omitempty"`
		Unbelieved sdk.Hints `json:"unbelieved_hints,omitzero"`
	}{t.Plugin, t.Aliases, t.Unchecked, t.Unbelieved})
	return slices.Concat(first[:len(first)-1], []byte(","), definition[1:]), nil
}

// StatedHints are the declared hints, trusted or not, for clients that decide themselves.
func (t *Tool) StatedHints() sdk.Hints {
	if t.Hints == (sdk.Hints{}) {
		return t.Unbelieved
	}
	return t.Hints
}

// clone returns a tool that may be changed.
func (t *Tool) clone() *Tool {
	out := *t
	out.InputSchema, out.OutputSchema = bytes.Clone(t.InputSchema), bytes.Clone(t.OutputSchema)
	out.Extra = bytes.Clone(t.Extra)
	for _, h := range []*sdk.Hints{&out.Hints, &out.Unbelieved} {
		for _, hint := range []**bool{&h.ReadOnly, &h.Destructive, &h.Idempotent, &h.OpenWorld} {
			if *hint != nil {
				*hint = new(**hint)
			}
		}
	}
	return &out
}

// forModel returns the tool with its description for a model; the tool itself if it has none of its own.
func (t *Tool) forModel(model string) *Tool {
	globs := slices.Collect(maps.Keys(t.descriptionFor))
	globs = slices.DeleteFunc(globs, func(g string) bool { return g != model && !toolname.Matches(g, model) })
	if len(globs) == 0 {
		return t
	}
	longest := slices.MaxFunc(globs, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	out := *t
	out.Description = t.descriptionFor[longest]
	return &out
}

// Arguments are the names of the arguments that the tool declares; nil when it declares none and accepts any.
func (t *Tool) Arguments() map[string]bool {
	if t.arguments == nil { // it is no tool of a host, but was read from its description
		return arguments.NewSchema(t.InputSchema).Names()
	}
	return t.arguments().Names()
}

// Sample returns arguments for a person to change: those that the tool requires, or else the named one.
func (t *Tool) Sample(otherwise string) json.RawMessage {
	return arguments.NewSchema(t.InputSchema).Sample(otherwise)
}

// newTool makes the host's tool, under a full name, from a plugin's definition. The schemas of a definition
// that was checked before are compiled by the first call: compiling is most of the cost of a listing.
func (l *listing) newTool(declared sdk.Tool, name string, checked bool) (*Tool, error) {
	if !checked {
		if err := declared.Check(); err != nil {
			return nil, err
		}
	}
	t := &Tool{Tool: declared, Plugin: l.name, plugin: l.plugin, declared: &declared}
	kept, err := t.removeInvisible()
	input, output, foreign := t.InputSchema, t.OutputSchema, t.ForeignSchema
	compile := func() *schemas { return compileSchemas(input, output, foreign) }
	t.schemas = sync.OnceValue(compile)
	if !checked {
		// Most tools are never called, and a compiled schema takes a thousand times its bytes: it is not kept.
		compiled := compile()
		err = errors.Join(err, compiled.err)
		t.Unchecked = compiled.unchecked
	}
	if err != nil {
		return nil, err
	}
	if t.Invisible > 0 {
		l.log().Warn("invisible characters were removed from a tool's description; they may hide text from people", "tool",
			name, "characters", t.Invisible)
	}
	if len(kept) > 0 {
		l.log().Warn("values in a tool's schema keep invisible characters; they may hide text from people", "tool",
			name, "places", kept)
	}
	t.Name = name
	t.Description = cmp.Or(l.options[name].Description, t.Description)
	t.descriptionFor = l.options[name].DescriptionFor
	t.Aliases = l.options[name].Aliases
	switch {
	case l.ignoreHints:
		t.Hints, t.Category, t.CostTier = sdk.Hints{}, "", ""
	case t.ForeignHints && !l.trustForeign:
		t.Unbelieved, t.Hints = t.Hints, sdk.Hints{}
	}
	if name != l.name+"__"+declared.Name && t.OriginalName == "" {
		t.OriginalName = declared.Name
	}
	t.arguments = sync.OnceValue(func() *arguments.Schema { return arguments.NewSchema(t.InputSchema) })
	t.searchDocument = sync.OnceValue(func() *toolsearch.Document { return toolsearch.NewDocument(&t.Tool) })
	t.hash = sync.OnceValue(func() string { return hashOf(canonical(t)) })
	return t, nil
}

// schemas are those of a tool, compiled. With err none is.
type schemas struct {
	input     *schema.Schema
	output    *schema.Schema // nil: none is declared, or a foreign one cannot be used
	unchecked []string       // see Tool.Unchecked
	err       error
}

// compileSchemas prepares the checks of arguments and structured results. A foreign input schema that cannot be used is
// replaced by one that accepts every object: the tool validates by itself.
func compileSchemas(input, output json.RawMessage, foreign bool) *schemas {
	s := &schemas{}
	compileInput, compileOutput := schema.Compile, schema.Compile
	if foreign {
		compileInput, compileOutput = schema.CompileForeign, schema.CompileForeignOutput
	}
	var err error
	s.input, err = compileInput(input)
	switch {
	case err == nil:
		s.unchecked = s.input.Unchecked
	case foreign:
		s.unchecked = []string{fmt.Sprintf("its arguments are not checked, since its schema cannot be used: %v", err)}
		s.input, err = schema.Compile(json.RawMessage(`{"type":"object"}`))
	}
	if err != nil {
		return &schemas{err: fmt.Errorf("its input schema cannot be used: %w", err)}
	}
	if output == nil {
		return s
	}
	s.output, err = compileOutput(output)
	switch {
	case err == nil:
	case foreign:
		s.unchecked = append(s.unchecked,
			fmt.Sprintf("its structured results are not checked, since its output schema cannot be used: %v", err))
		return s
	default:
		return &schemas{err: fmt.Errorf("its output schema cannot be used: %w", err)}
	}
	for _, what := range s.output.Unchecked {
		s.unchecked = append(s.unchecked, "output schema: "+what)
	}
	return s
}

const maxName = 64 // the longest full name that model vendors allow

// fullName joins both parts; a name that would be too long ends in a short hash of the whole name.
func fullName(plugin, tool string) string {
	full := plugin + "__" + tool
	if len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	return strings.TrimRight(full[:maxName-9], "_") + "_" + hex.EncodeToString(sum[:4])
}

// removeInvisible removes characters that people cannot see from the texts that models read in a definition. Results
// are not changed: they are marked as data, and a file is edited by its exact text. Kept are the places in its schemas
// where they stay.
func (t *Tool) removeInvisible() (kept []string, err error) {
	for _, text := range []*string{&t.Title, &t.Description, &t.Category, &t.OriginalName} {
		var n int
		*text, n = textutil.Visible(*text, -1)
		t.Invisible += n
	}
	for _, s := range []struct {
		what string
		json *json.RawMessage
	}{{"input", &t.InputSchema}, {"output", &t.OutputSchema}} {
		visible, n, places, err := visibleSchema(*s.json)
		if err != nil {
			return nil, fmt.Errorf("its %s schema cannot be used: %w", s.what, err)
		}
		for _, at := range places {
			kept = append(kept, s.what+" schema: "+at)
		}
		*s.json = visible
		t.Invisible += n
	}
	if strings.TrimSpace(t.Description) == "" {
		return nil, errors.New("its description has only characters that cannot be seen")
	}
	return kept, nil
}

// visibleSchema removes invisible characters from the annotations in a JSON Schema, and counts them. Other texts that
// have some keep them, since the plugin compares with them, and kept are their places. In a property's name they are an
// error: the plugin may depend on them.
func visibleSchema(schema json.RawMessage) (visible json.RawMessage, removed int, kept []string, err error) {
	ascii := !bytes.ContainsFunc(schema, func(r rune) bool { return r > unicode.MaxASCII }) &&
		!bytes.Contains(schema, []byte(`\u`))
	if ascii { // as most schemas are
		return schema, 0, nil, nil
	}
	var out bytes.Buffer
	twice := jsontext.AllowDuplicateNames(true) // which is for who compiles the schema to judge
	from, to := jsontext.NewDecoder(bytes.NewReader(schema), twice), jsontext.NewEncoder(&out, twice)
	for kind := from.PeekKind(); kind != 0; kind = from.PeekKind() {
		if kind != '"' {
			token, err := from.ReadToken()
			if err == nil {
				err = to.WriteToken(token)
			}
			if err != nil {
				return nil, 0, nil, err
			}
			continue
		}
		in, length := from.StackIndex(from.StackDepth())
		isKey := in == '{' && length%2 == 0
		raw, err := from.ReadValue()
		if err != nil {
			return nil, 0, nil, err
		}
		text := arguments.Unquote(raw)
		visible, n := textutil.Visible(text, -1)
		switch {
		case n == 0:
		case isKey:
			return nil, 0, nil, fmt.Errorf("the name %+.60q in it has characters that cannot be seen", text)
		case annotates(from.StackPointer()):
			raw, _ = jsontext.AppendQuote(nil, visible) // fails for invalid UTF-8 only
			removed += n
		case len(kept) < maxKept:
			kept = append(kept, string(from.StackPointer()))
		}
		if err := to.WriteValue(raw); err != nil {
			return nil, 0, nil, err
		}
	}
	if removed == 0 {
		return schema, 0, kept, nil
	}
	return bytes.TrimSpace(out.Bytes()), removed, kept, nil
}

const maxKept = 10 // how many places with invisible characters are named

// annotates reports whether a value in a schema is only read, and compared with nothing.
func annotates(at jsontext.Pointer) bool {
	name := false // of a property or definition, which is no keyword
	for word := range at.Tokens() {
		switch {
		case name:
			name = false
		case slices.Contains([]string{"enum", "const"}, word):
			return false
		case slices.Contains([]string{"title", "description", "$comment", "default", "examples", "example"}, word):
			return true
		default:
			name = slices.Contains([]string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas",
				"dependencies"}, word)
		}
	}
	return false
}

// Definition returns all that a plugin declares of a tool as canonical JSON, independent of white space, escapes and
// member order, and its SHA-256 in hex. The hash identifies the definition in Options.Pins.
func Definition(t sdk.Tool) (definition json.RawMessage, hash string) {
	definition = canonical(t)
	return definition, hashOf(definition)
}

// canonical writes a definition as canonical JSON. Numbers keep their digits.
func canonical(t any) json.RawMessage {
	definition, _ := json.Marshal(t) // cannot fail: a struct of plain fields, decoded from JSON
	v := jsontext.Value(definition)
	if v.Format(jsontext.ReorderRawObjects(true)) != nil {
		return definition
	}
	return json.RawMessage(v)
}

func hashOf(definition []byte) string {
	sum := sha256.Sum256(definition)
	return hex.EncodeToString(sum[:])
}

// pins are the tools that a plugin may have, with the hashes of their definitions.
type pins struct {
	hashes map[string]string // by the tool's own name; nil allows any tool
	recall func(hash string) json.RawMessage
}

// check refuses a tool that is not in the lock. The error does not quote the tool's texts: they may try to influence
// the model that reads it.
func (p pins) check(t sdk.Tool, name, plugin string) *sdk.Error {
	if p.hashes == nil {
		return nil
	}
	locked, there := p.hashes[t.Name]
	now, hash := Definition(t)
	var e *sdk.Error
	switch {
	case !there:
		e = fail(sdk.CodeDenied, "NewTool", "%s is disabled: plugin %q did not have it when it was locked", name, plugin)
	case locked != hash:
		e = fail(sdk.CodeDenied, "DefinitionChanged", "%s is disabled: its %s", name, p.difference(locked, hash, now))
	default:
		return nil
	}
	e.Suggestion = "Use other tools. A person who has looked at it can enable it: toolhost plugin lock " + plugin
	e.Details = sdk.Details(map[string]string{"plugin": plugin, "locked": locked, "now": hash})
	return e
}

// difference names the parts that have changed, if the old definition is known.
func (p pins) difference(locked, hash string, now json.RawMessage) string {
	var old json.RawMessage
	if p.recall != nil {
		old = p.recall(locked)
	}
	var a, b map[string]json.RawMessage
	if hashOf(old) != locked || json.Unmarshal(old, &a) != nil || json.Unmarshal(now, &b) != nil {
		return "definition is not the one that was locked: it has the hash " + hash[:12] + "…, not " +
			locked[:min(len(locked), 12)] + "…"
	}
	parts := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(parts)
	parts = slices.DeleteFunc(slices.Compact(parts), func(part string) bool { return bytes.Equal(a[part], b[part]) })
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(part, "_", " ")
	}
	switch len(parts) {
	case 0:
		return "definition is not the one that was locked"
	case 1:
		return parts[0] + " is not the one that was locked"
	default:
		return textutil.List(parts, "and") + " are not those that were locked"
	}
}
