package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/mcp/internal/httptransport"
	"github.com/toolhost/toolhost/sdk"
)

const (
	maxOriginal = 1 << 10   // of a server's name of a tool, in bytes
	maxTitle    = 256       // of a title
	maxSchema   = 512 << 10 // of a schema
	maxExtra    = 64 << 10  // of the members that have no field
)

// A definition is a tool of a server: what hosts see of it, and what a call needs.
type definition struct {
	sdk.Tool
	original string // the server's name of it
	headers  []paramHeader
	notes    []string // what is to be said of it, for the operator

	hashing sync.Once
	hash    [sha256.Size]byte // of all that hosts see of it, once it is needed
}

// same reports whether hosts see the same of both. It is part of every call.
func (d *definition) same(other *definition) bool { return d == other || d.sum() == other.sum() }

func (d *definition) sum() [sha256.Size]byte {
	d.hashing.Do(func() { d.hash = sha256.Sum256(sdk.Encode(d.Tool)) })
	return d.hash
}

func (d *definition) note(format string, a ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, a...))
}

// readDefinition makes a definition of an item of a server's list. An error says why the tool cannot be called.
func readDefinition(item json.RawMessage) (*definition, error) {
	if rawjson.First(item) != '{' {
		return nil, fmt.Errorf("it is %s, not an object", rawjson.Kind(item))
	}
	d := &definition{Tool: sdk.Tool{ForeignSchema: true, ForeignHints: true, Category: "mcp"}}
	var name, title, description, annotations, input, output json.RawMessage
	fields := map[string]*json.RawMessage{"name": &name, "title": &title, "description": &description,
		"annotations": &annotations, "inputSchema": &input, "outputSchema": &output}
	var extra rawjson.Object
	for _, m := range rawjson.ObjectOf(item) {
		if field := fields[m.Name]; field != nil {
			*field = m.Value
		} else {
			extra = append(extra, m)
		}
	}
	d.original, _ = text(name)
	switch {
	case strings.TrimSpace(d.original) == "":
		return nil, errors.New("it has no name")
	case len(d.original) > maxOriginal:
		return nil, fmt.Errorf("its name %q… has %d bytes; the limit is %d", textutil.Cut(d.original, 60), len(d.original),
			maxOriginal)
	}
	d.Name = toolNames.Fit(d.original)
	extra.Add("annotations", d.readAnnotations(annotations))
	d.readTitle(title)
	d.readDescription(description)
	if err := d.readInput(input); err != nil {
		return nil, err
	}
	d.readOutput(output)
	d.readExtra(extra)
	return d, nil
}

// readAnnotations reads the hints, and returns the annotations that are none.
func (d *definition) readAnnotations(raw json.RawMessage) json.RawMessage {
	var rest rawjson.Object
	hints := map[string]**bool{"readOnlyHint": &d.Hints.ReadOnly, "destructiveHint": &d.Hints.Destructive,
		"idempotentHint": &d.Hints.Idempotent, "openWorldHint": &d.Hints.OpenWorld}
	for _, m := range rawjson.ObjectOf(raw) {
		if m.Name == "title" {
			d.readTitle(m.Value)
		}
		if hint := hints[m.Name]; hint != nil && rawjson.Kind(m.Value) == "a boolean" {
			*hint = new(string(m.Value) == "true")
		} else {
			rest = append(rest, m)
		}
	}
	return rest.JSON()
}

func (d *definition) readTitle(raw json.RawMessage) {
	title, _ := text(raw)
	if title, _ = textutil.Visible(title, '\uFFFD'); strings.TrimSpace(title) != "" {
		d.Title = textutil.Cut(title, maxTitle)
	}
}

func (d *definition) readDescription(raw json.RawMessage) {
	description, _ := text(raw)
	description, hidden := textutil.Visible(description, '\uFFFD')
	if hidden > 0 {
		d.note("its description has %d characters that cannot be seen; they are shown as \uFFFD", hidden)
	}
	if strings.TrimSpace(description) == "" {
		description = fmt.Sprintf("The tool %s of an MCP server, which does not describe it.",
			textutil.Cut(d.original, 200))
	}
	const mark = "…"
	if len(description) > sdk.MaxDescription {
		d.note("its description of %d bytes is cut; the limit is %d", len(description), sdk.MaxDescription)
		description = textutil.Cut(description, sdk.MaxDescription-len(mark)) + mark
	}
	d.Description = description
}

// readInput keeps the schema's bytes where it describes objects. An error means that no arguments fit it.
func (d *definition) readInput(raw json.RawMessage) error {
	why := ""
	switch {
	case rawjson.First(raw) != '{':
		why = "is " + rawjson.Kind(raw)
	case len(raw) > maxSchema:
		why = fmt.Sprintf("has %d bytes, of which %d can be read", len(raw), maxSchema)
	case deep(raw):
		why = fmt.Sprintf("has more than %d objects and arrays in each other", maxNesting)
	}
	if why != "" {
		d.note("its inputSchema %s; its arguments are not checked here", why)
		d.InputSchema = json.RawMessage(`{"type":"object"}`)
		return nil
	}
	all := rawjson.ObjectOf(raw)
	namesObject := func(t json.RawMessage) bool { name, _ := text(t); return name == "object" }
	i := slices.IndexFunc(all, func(m rawjson.Member) bool { return m.Name == "type" })
	switch {
	case i < 0:
		d.note("its inputSchema has no type; \"type\":\"object\" is added")
		all = append(rawjson.Object{{Name: "type", Value: json.RawMessage(`"object"`)}}, all...)
		raw = all.JSON()
	case !slices.ContainsFunc(oneOrMore(all[i].Value), namesObject):
		return fmt.Errorf("its arguments would have the type %.60s, and MCP passes objects only", all[i].Value)
	case rawjson.First(all[i].Value) == '[':
		d.note("its inputSchema allows other types than object; \"type\":\"object\" is in their place")
		all[i].Value = json.RawMessage(`"object"`)
		raw = all.JSON()
	}
	var err error
	d.InputSchema = slices.Clone(raw)
	d.headers, err = paramHeaders(raw)
	return err
}

func (d *definition) readOutput(raw json.RawMessage) {
	switch {
	case raw == nil:
	case rawjson.First(raw) != '{':
		d.note("its outputSchema is %s, and is not used", rawjson.Kind(raw))
	case len(raw) > maxSchema:
		d.note("its outputSchema has %d bytes; the limit is %d, so it is not used", len(raw), maxSchema)
	case deep(raw):
		d.note("its outputSchema has more than %d objects and arrays in each other, and is not used", maxNesting)
	default:
		d.OutputSchema = slices.Clone(raw)
	}
}

// readExtra keeps what has no field, unless it is too large together: then the largest members go first.
func (d *definition) readExtra(extra rawjson.Object) {
	extra = slices.DeleteFunc(extra, func(m rawjson.Member) bool {
		if deep(m.Value) {
			d.note("its member %s is left out: it has more than %d objects and arrays in each other",
				textutil.Cut(m.Name, 60), maxNesting)
		}
		return deep(m.Value)
	})
	for {
		if d.Extra = extra.JSON(); len(d.Extra) <= maxExtra {
			return
		}
		largest := 0
		for i, m := range extra {
			if len(m.Value) > len(extra[largest].Value) {
				largest = i
			}
		}
		d.note("its member %s of %d bytes is left out; the limit of such members is %d bytes",
			textutil.Cut(extra[largest].Name, 60), len(extra[largest].Value), maxExtra)
		extra = slices.Delete(extra, largest, largest+1)
	}
}

// items returns those of a JSON array; ok is false for other JSON.
func items(array json.RawMessage) (out []json.RawMessage, ok bool) {
	out, _, err := rawjson.Elements(array, len(array))
	return out, err == nil
}

// oneOrMore are the items of an array, or the one value that stands in its place.
func oneOrMore(value json.RawMessage) []json.RawMessage {
	if list, ok := items(value); ok {
		return list
	}
	return []json.RawMessage{value}
}

// maxNesting is how many objects and arrays a part of a definition may have in each other. Hosts check schemas of 32.
const maxNesting = 60

func deep(raw json.RawMessage) bool {
	open, inText := 0, false
	for i := 0; i < len(raw) && open <= maxNesting; i++ {
		switch c := raw[i]; {
		case c == '"':
			inText = !inText
		case c == '\\':
			i++ // the character behind it is part of a text
		case inText:
		case c == '{' || c == '[':
			open++
		case c == '}' || c == ']':
			open--
		}
	}
	return open > maxNesting
}

// text returns a JSON string's text; ok is false for other JSON.
func text(raw json.RawMessage) (out string, ok bool) {
	if rawjson.Check(raw) != nil {
		return "", false
	}
	return rawjson.Text(bytes.TrimSpace(raw))
}

// A paramHeader is an argument that a request over HTTP repeats as a header, so that what stands between can route by
// it: a property of the input schema with x-mcp-header.
type paramHeader struct {
	name string   // Mcp-Param-NAME
	path []string // of properties
}

const (
	headerKey      = "x-mcp-header"
	maxHeaderDepth = 64
)

// headerName is a token of RFC 9110.
var headerName = regexp.MustCompile("^[!#$%&'*+\\-.^_`|~0-9A-Za-z]+$")

// paramHeaders finds those of an input schema. An error means that MCP does not allow the tool to be called over HTTP.
func paramHeaders(schema json.RawMessage) ([]paramHeader, error) {
	if !strings.Contains(string(schema), headerKey) {
		return nil, nil
	}
	var out []paramHeader
	if err := collectHeaders(&out, schema, nil, true, 0); err != nil {
		return nil, err
	}
	for i, h := range out {
		if slices.ContainsFunc(out[:i], func(o paramHeader) bool { return strings.EqualFold(o.name, h.name) }) {
			return nil, fmt.Errorf("two properties have the %s %q", headerKey, h.name)
		}
	}
	return out, nil
}

// collectHeaders looks at one schema. A property that is not reached through properties alone, such as one of an item
// of an array, has no one value, so reachable is false in it.
func collectHeaders(out *[]paramHeader, schema json.RawMessage, path []string, reachable bool, depth int) error {
	if depth > maxHeaderDepth {
		return nil
	}
	var name, propertyType json.RawMessage
	for _, m := range rawjson.ObjectOf(schema) {
		switch m.Name {
		case headerKey:
			name = m.Value
		case "type":
			propertyType = m.Value
		case "const", "default", "enum", "examples": // values, not schemas
		case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
			for _, p := range rawjson.ObjectOf(m.Value) {
				inside := reachable && m.Name == "properties"
				if err := collectHeaders(out, p.Value, append(slices.Clip(path), p.Name), inside, depth+1); err != nil {
					return err
				}
			}
		default:
			for _, inside := range oneOrMore(m.Value) {
				if err := collectHeaders(out, inside, path, false, depth+1); err != nil {
					return err
				}
			}
		}
	}
	if name == nil {
		return nil
	}
	return addHeader(out, name, propertyType, path, reachable)
}

func addHeader(out *[]paramHeader, name, propertyType json.RawMessage, path []string, reachable bool) error {
	where := fmt.Sprintf("%s of the property %q", headerKey, strings.Join(path, "."))
	n, ok := text(name)
	switch {
	case !reachable || len(path) == 0:
		return fmt.Errorf("%s does not belong to one argument", where)
	case !ok || !headerName.MatchString(n):
		return fmt.Errorf("%s is not a name of a header: %.60s", where, name)
	}
	switch t, _ := text(propertyType); t {
	case "string", "integer", "boolean", "number":
	default:
		return fmt.Errorf("%s: the property is not a string, number or boolean", where)
	}
	*out = append(*out, paramHeader{n, path})
	return nil
}

// headersOf are the headers of a call, nil if there are none. Absent arguments and null have none.
func headersOf(declared []paramHeader, arguments json.RawMessage) map[string]string {
	var out map[string]string
	for _, h := range declared {
		value := arguments
		for _, name := range h.path {
			value = memberOf(value, name)
		}
		var shown string
		switch rawjson.First(value) {
		case '"':
			shown, _ = text(value)
		case 0, '{', '[', 'n':
			continue
		default:
			shown = string(value)
		}
		if out == nil {
			out = map[string]string{}
		}
		out["Mcp-Param-"+h.name] = httptransport.EncodeHeader(shown)
	}
	return out
}

// memberOf returns the last member of the name, since that is what decoders of JSON take.
func memberOf(object json.RawMessage, name string) (value json.RawMessage) {
	for _, m := range rawjson.ObjectOf(object) {
		if m.Name == name {
			value = m.Value
		}
	}
	return value
}
