package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
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
	if first(item) != '{' {
		return nil, fmt.Errorf("it is %s, not an object", rawjson.Kind(item))
	}
	d := &definition{Tool: sdk.Tool{ForeignSchema: true, ForeignHints: true, Category: "mcp"}}
	var title, description, annotations, input, output json.RawMessage
	var extra rawjson.Object
	for _, m := range rawjson.ObjectOf(item) {
		switch m.Name {
		case "name":
			d.original, _ = text(m.Value)
		case "title":
			title = m.Value
		case "description":
			description = m.Value
		case "annotations":
			annotations = m.Value
		case "inputSchema":
			input = m.Value
		case "outputSchema":
			output = m.Value
		default:
			extra = append(extra, m)
		}
	}
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
	for _, m := range rawjson.ObjectOf(raw) {
		var hint **bool
		switch m.Name {
		case "readOnlyHint":
			hint = &d.Hints.ReadOnly
		case "destructiveHint":
			hint = &d.Hints.Destructive
		case "idempotentHint":
			hint = &d.Hints.Idempotent
		case "openWorldHint":
			hint = &d.Hints.OpenWorld
		case "title":
			d.readTitle(m.Value)
		}
		var value bool
		if rawjson.Kind(m.Value) != "a boolean" || hint == nil || json.Unmarshal(m.Value, &value) != nil {
			rest = append(rest, m)
			continue
		}
		*hint = &value
	}
	return rest.JSON()
}

// readTitle sets the title, unless there is none.
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
	const unchecked = `{"type":"object"}`
	switch {
	case first(raw) != '{':
		d.note("its inputSchema is %s; its arguments are not checked here", rawjson.Kind(raw))
		d.InputSchema = json.RawMessage(unchecked)
		return nil
	case len(raw) > maxSchema:
		d.note("its inputSchema has %d bytes, of which %d can be read; its arguments are not checked here", len(raw),
			maxSchema)
		d.InputSchema = json.RawMessage(unchecked)
		return nil
	case deep(raw):
		d.note("its inputSchema has more than %d objects and arrays in each other; its arguments are not checked here",
			maxNesting)
		d.InputSchema = json.RawMessage(unchecked)
		return nil
	}
	all := rawjson.ObjectOf(raw)
	i := slices.IndexFunc(all, func(m rawjson.Member) bool { return m.Name == "type" })
	switch {
	case i < 0:
		d.note("its inputSchema has no type; \"type\":\"object\" is added")
		all = append(rawjson.Object{{Name: "type", Value: json.RawMessage(`"object"`)}}, all...)
		raw = all.JSON()
	case !allowsObject(all[i].Value):
		return fmt.Errorf("its arguments would have the type %.60s, and MCP passes objects only", all[i].Value)
	case first(all[i].Value) == '[':
		d.note("its inputSchema allows other types than object; \"type\":\"object\" is in their place")
		all[i].Value = json.RawMessage(`"object"`)
		raw = all.JSON()
	}
	var err error
	d.InputSchema = slices.Clone(raw)
	d.headers, err = paramHeaders(raw)
	return err
}

// allowsObject reads the keyword type.
func allowsObject(types json.RawMessage) bool {
	list, ok := items(types)
	if !ok {
		list = []json.RawMessage{types}
	}
	return slices.ContainsFunc(list, func(t json.RawMessage) bool { name, _ := text(t); return name == "object" })
}

func (d *definition) readOutput(raw json.RawMessage) {
	switch {
	case raw == nil:
	case first(raw) != '{':
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

// maxNesting is how many objects and arrays a part of a definition may have in each other. Hosts check schemas of 32.
const maxNesting = 60

// deep reports JSON that is nested deeper than maxNesting.
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

// first returns the first byte of a JSON value, which identifies its kind; 0 if there is none.
func first(raw json.RawMessage) byte {
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) > 0 {
		return raw[0]
	}
	return 0
}

// text returns a JSON string's text; ok is false for other JSON.
func text(raw json.RawMessage) (out string, ok bool) {
	if rawjson.Check(raw) != nil {
		return "", false
	}
	return rawjson.Text(bytes.TrimSpace(raw))
}
