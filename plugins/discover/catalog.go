package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

const (
	maxSchema   = 256 << 10
	maxOriginal = 1 << 10 // of a name, in bytes
	// maxDefinitions bounds all tools together: their list travels in one message.
	maxDefinitions = 3 << 20
	maxItems       = 10_000
	maxTools       = 2048 // of a plugin
	maxNotices     = 50
)

// A catalog collects the tools that a discovery command printed, and what is to be said about the rest.
type catalog struct {
	tools     []sdk.BoundTool
	found     []foundTool       // that were printed, until finish names them
	printed   map[string]int    // their places, by original name
	originals map[string]string // by the tool's own name
	size      int
	items     int // looked at
	notes     []string
	more      int // notes beyond the most that are kept
}

// A foundTool is a tool that was printed, under the name that it would have if it were alone.
type foundTool struct {
	original string
	tool     sdk.BoundTool
}

func (c *catalog) note(format string, a ...any) {
	if len(c.notes) == maxNotices {
		c.more++
		return
	}
	c.notes = append(c.notes, fmt.Sprintf(format, a...))
}

func (c *catalog) notices() (out []string) {
	if c.items > maxItems {
		out = append(out, fmt.Sprintf("only the first %d items are read; the rest is left out", maxItems))
	}
	out = append(out, c.notes...)
	if c.more > 0 {
		out = append(out, fmt.Sprintf("and %d more notices like these", c.more))
	}
	return out
}

// read adds the tools of a discovery command's output. Only output that is no array is an error: a single bad tool is
// left out with a notice.
func (c *catalog) read(printed []byte, s *settings) error {
	list, err := array(printed)
	if err != nil {
		return err
	}
	c.each("item", list, func(where string, fields map[string]json.RawMessage) { c.addItem(where, fields, s) })
	c.finish()
	if len(c.tools)+len(c.notes) == 0 {
		c.note("no tools: discovery_command %s printed an empty list", s.discovery)
	}
	return nil
}

// each examines the objects of a list, as long as there are not too many items.
func (c *catalog) each(what string, list json.RawMessage,
	add func(where string, fields map[string]json.RawMessage)) {
	for i, item := range items(list) {
		if c.items++; c.items > maxItems {
			return
		}
		where := fmt.Sprintf("%s %d", what, i+1)
		if fields := object(item); fields != nil {
			add(where, fields)
		} else {
			c.note("%s is left out: it is %s, not an object", where, rawjson.Kind(item))
		}
	}
}

// addItem adds the tools of one item, in any of its three forms, or as OpenAI and Amazon Bedrock have them.
func (c *catalog) addItem(where string, fields map[string]json.RawMessage, s *settings) {
	for _, key := range []string{"function_declarations", "functionDeclarations"} {
		if rawjson.Kind(fields[key]) == "an array" {
			c.each(where+", "+key, fields[key], func(where string, fields map[string]json.RawMessage) {
				c.addTool(where, fields, s)
			})
			return
		}
		if kind := rawjson.Kind(fields[key]); kind != "missing" && kind != "null" && fields["name"] == nil {
			c.note("%s is left out: its %s is %s, not an array", where, key, kind)
			return
		}
	}
	for _, key := range []string{"function", "toolSpec"} {
		if inner := object(fields[key]); inner != nil && fields["name"] == nil {
			fields = inner
		}
	}
	c.addTool(where, fields, s)
}

// addTool adds the tool that the fields describe, or a notice.
func (c *catalog) addTool(where string, fields map[string]json.RawMessage, s *settings) {
	var original string
	if json.Unmarshal(fields["name"], &original) != nil || strings.TrimSpace(original) == "" {
		c.note("%s is left out: it has no name", where)
		return
	}
	shown := textutil.Cut(original, 60)
	switch {
	case strings.ContainsRune(original, 0):
		c.note("%s is left out: its name %q has a NUL character, which no program can be given", where, shown)
		return
	case len(original) > maxOriginal:
		c.note("%s is left out: its name %q... has %d bytes, at most %d are allowed", where, shown, len(original),
			maxOriginal)
		return
	}
	t, err := c.tool(original, fields, s)
	if err != nil {
		c.note("the tool %q is left out: %v", shown, err)
		return
	}
	bound := sdk.BoundTool{Tool: t, Handler: s.handler(original)}
	if at, there := c.printed[original]; there {
		c.note("the tool %q is there twice; the last one counts", shown)
		c.found[at].tool = bound
		return
	}
	if c.printed == nil {
		c.printed = map[string]int{}
	}
	c.printed[original] = len(c.found)
	c.found = append(c.found, foundTool{original, bound})
}

// finish gives the tools that were printed their names, and adds those that can be offered. Names that differ by
// letter case alone, and different ones that had to be made to fit, may clash: the first by its original name keeps
// the plain one, whatever the order they are printed in.
func (c *catalog) finish() {
	owner := map[string]string{} // by the name in small letters
	for name := range c.originals {
		owner[strings.ToLower(name)] = name
	}
	fits := func(f foundTool) bool { return f.tool.Name == f.original }
	ranked := slices.SortedFunc(slices.Values(c.found), func(a, b foundTool) int {
		if fits(a) != fits(b) {
			return map[bool]int{true: -1, false: 1}[fits(a)]
		}
		return strings.Compare(a.original, b.original)
	})
	for _, f := range ranked {
		if small := strings.ToLower(f.tool.Name); owner[small] == "" {
			owner[small] = f.original
		}
	}
	for _, f := range c.found {
		t := f.tool
		if first := owner[strings.ToLower(t.Name)]; first != f.original {
			t.Name = toolNames.Hashed(t.Name, f.original)
			c.note("the tool %q is called %q here, since %q has its name", textutil.Cut(f.original, 60), t.Name,
				textutil.Cut(first, 60))
		}
		if t.Name != f.original {
			t.OriginalName = f.original
		}
		if err := c.admit(&t.Tool, f.original); err != nil {
			c.note("the tool %q is left out: %v", textutil.Cut(f.original, 60), err)
			continue
		}
		c.tools = append(c.tools, t)
	}
}

func (c *catalog) tool(original string, fields map[string]json.RawMessage, s *settings) (sdk.Tool, error) {
	schema, err := inputSchema(fields)
	switch {
	case schema == nil:
		return sdk.Tool{}, err
	case err != nil:
		c.note("the arguments of the tool %q are not checked: %v", textutil.Cut(original, 60), err)
	}
	t := sdk.Tool{Name: toolNames.Fit(original), InputSchema: schema, ForeignSchema: true, Category: "discovered",
		Timeout: s.callTimeout + 10*time.Second}
	t.Description = c.description(original, fields["description"], s)
	return t, nil
}

// description is the project's own or, if there is none, what is known of the tool.
func (c *catalog) description(original string, raw json.RawMessage, s *settings) string {
	var text string
	_ = json.Unmarshal(raw, &text) // what is no string is no description
	if text = strings.TrimSpace(text); text == "" {
		text = fmt.Sprintf("Runs the project's command %s with the arguments as JSON on standard input, and returns "+
			"what it prints.", s.call.with(original))
	}
	if len(text) > sdk.MaxDescription {
		short := textutil.Cut(text, sdk.MaxDescription-len("...")) + "..."
		c.note("the description of the tool %q is cut from %d to %d bytes", textutil.Cut(original, 60), len(text), len(short))
		text = short
	}
	return text
}

// admit checks what the whole list would be refused for.
func (c *catalog) admit(t *sdk.Tool, original string) error {
	if len(c.originals) == maxTools {
		return fmt.Errorf("%d tools are offered at most", maxTools)
	}
	for name := range c.originals {
		if strings.EqualFold(name, t.Name) {
			return fmt.Errorf("its name becomes %q here, which is that of the tool %q before it", t.Name,
				textutil.Cut(c.originals[name], 60))
		}
	}
	if err := t.Check(); err != nil {
		return err
	}
	size := len(t.Name) + len(original) + len(t.Description) + len(t.InputSchema)
	if c.size+size > maxDefinitions {
		return fmt.Errorf("with it, the definitions of all tools would have more than %d bytes", maxDefinitions)
	}
	c.size += size
	if c.originals == nil {
		c.originals = map[string]string{}
	}
	c.originals[t.Name] = original
	return nil
}

var toolNames = toolname.Rule{Max: toolname.Limit(sdk.Instance()), Lower: true}

// paramsSchema returns the schema that params are short for: no other arguments, all required but those with a question
// mark.
func paramsSchema(params map[string]json.RawMessage) (json.RawMessage, error) {
	var properties, required []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		property, optional, err := param(params[name])
		if err != nil {
			return nil, fmt.Errorf("params: %s: %w", name, err)
		}
		properties = append(properties, string(sdk.Encode(name))+":"+property)
		if !optional {
			required = append(required, string(sdk.Encode(name)))
		}
	}
	text := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}`
	if len(required) > 0 {
		text += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return json.RawMessage(text + `,"additionalProperties":false}`), nil
}

// param reads "TYPE", "TYPE?" for one that may be absent, and either with ": DESCRIPTION" after it. A list is TYPE[].
func param(raw json.RawMessage) (property string, optional bool, err error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return "", false, fmt.Errorf("it is %s; write \"TYPE: DESCRIPTION\", or use schema for more", rawjson.Kind(raw))
	}
	kind, description, _ := strings.Cut(text, ":")
	kind, optional = strings.CutSuffix(strings.TrimSpace(kind), "?")
	kind, list := strings.CutSuffix(kind, "[]")
	if !slices.Contains([]string{"string", "number", "integer", "boolean"}, kind) {
		return "", false, fmt.Errorf("%q begins with no type: write string, number, integer or boolean, with [] for a "+
			"list, with ? for one that may be absent, then \": DESCRIPTION\"", textutil.Cut(text, 60))
	}
	property = `{"type":"` + kind + `"`
	if list {
		property = `{"type":"array","items":{"type":"` + kind + `"}`
	}
	if description = strings.TrimSpace(description); description != "" {
		property += `,"description":` + string(sdk.Encode(description))
	}
	return property + "}", optional, nil
}
