//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

// badDefinitions are definitions that servers should not send, by what is wrong with them. Each is of a tool called
// "bad", unless its name is what is wrong.
func badDefinitions() map[string]string {
	nested := func(n int) string { return strings.Repeat(`{"items":`, n) + "{}" + strings.Repeat("}", n) }
	list := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	out := map[string]string{
		"not an object: string": `"bad"`, "not an object: number": `5`, "not an object: null": `null`,
		"not an object: array": `["bad"]`, "not an object: true": `true`, "empty": `{}`, "a deep array": list(200_000),
		"no name": `{"inputSchema":{"type":"object"}}`, "a blank name": tool(" \t", ""), "an empty name": tool("", ""),
		"NUL in the name":  `{"name":"a\u0000b","inputSchema":{"type":"object"}}`,
		"half a character": `{"name":"\ud800","inputSchema":{"type":"object"}}`,
		"invalid UTF-8": "{\"name\":\"bad\xff\",\"description\":\"\xfe\xc0\x80\"," +
			"\"inputSchema\":{\"type\":\"object\"}}",
		"control characters":   tool("bad", `"description":"\u0000\u001b[2J\u202e","inputSchema":{"type":"object"}`),
		"a huge name":          tool(strings.Repeat("n", 1<<20), ""),
		"a huge description":   tool("bad", `"description":"`+strings.Repeat("x", 1<<20)+`","inputSchema":{"type":"object"}`),
		"a huge schema":        tool("bad", `"inputSchema":{"type":"object","description":"`+strings.Repeat("x", 1<<20)+`"}`),
		"a huge other member":  tool("bad", `"inputSchema":{"type":"object"},"_meta":{"x":"`+strings.Repeat("x", 1<<20)+`"}`),
		"a name that is there": tool("good0", `"description":"another"`), "a name in capitals": tool("GOOD1", ""),
		"a name that becomes another's": tool("good-2!", ""), "two underscores": tool("good__3", ""),
		"two names":         `{"name":"good4","name":"bad","inputSchema":{"type":"object"}}`,
		"two schemas":       tool("bad", `"inputSchema":{"type":"object"},"inputSchema":{"type":"string"}`),
		"two types":         tool("bad", `"inputSchema":{"type":"object","type":"array"}`),
		"a type of no kind": tool("bad", `"inputSchema":{"type":{"object":true}}`),
		"no types":          tool("bad", `"inputSchema":{"type":[]}`),
		"a header of arrays": tool("bad",
			`"inputSchema":{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"A"}}}`),
		"a $ref in a circle": tool("bad", `"inputSchema":{"type":"object","$ref":"#"}`),
		"a $ref to nothing":  tool("bad", `"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`),
		"a $ref elsewhere": tool("bad",
			`"inputSchema":{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`),
	}
	for _, m := range []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons",
		"execution",
		"_meta"} {
		for kind, value := range map[string]string{"null": `null`, "number": `1e999`, "boolean": `false`, "string": `"bad"`,
			"array": `[1,[2]]`, "object": `{"type":7,"a":{"b":null}}`} {
			out[m+" is "+kind] = fmt.Sprintf(`{"name":"bad","inputSchema":{"type":"object"},%q:%s}`, m, value)
		}
		for _, depth := range []int{59, 1000, 12_000, 300_000} {
			value := nested(depth)
			if m == "inputSchema" {
				value = `{"type":"object","properties":{"a":` + value + `}}`
			}
			out[fmt.Sprintf("%s is nested %d deep", m, depth)] = fmt.Sprintf(`{"name":"bad",%q:%s}`, m, value)
		}
	}
	return out
}

// contested are the tools that one of the definitions is another of: which of the two is the good one cannot be known.
var contested = map[string]string{"a name that is there": "good0", "a name in capitals": "good1"}

// A bad definition costs no tool but its own, and if it costs that, a notice says so.
func TestBadDefinitionsCostNoOthers(t *testing.T) {
	good := []string{tool("echo", "")}
	for i := range 19 {
		good = append(good, tool(fmt.Sprintf("good%d", i), ""))
	}
	f := newFake(t, good...)
	f.start("")
	offered, err := f.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	session, err := f.upstreams.all[f.dir].connected(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for what, definition := range badDefinitions() {
		at = (at + 7) % (len(good) + 1) // first, last, between
		f.list(slices.Insert(slices.Clone(good), at, definition)...)
		c, err := f.upstreams.all[f.dir].list(t.Context(), session)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		f.setCatalog(c)
		tools, err := f.Tools(t.Context())
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for _, one := range offered {
			i := slices.IndexFunc(tools, func(t sdk.Tool) bool { return t.Name == one.Name })
			if one.Name == contested[what] {
				continue
			}
			if i < 0 || cmp.Diff(one, tools[i]) != "" {
				t.Errorf("%s: %s is changed or missing; %q", what, one.Name, c.notices)
			}
		}
		if len(tools) == len(good) && !strings.Contains(strings.Join(c.left, "\n"), "left out") &&
			!strings.Contains(strings.Join(c.left, "\n"), "two tools called") {
			t.Errorf("%s: it is left out, and nothing says so: %q", what, c.notices)
		}
		if got := f.text("echo", `{"a":1}`); got != `{"a":1}` {
			t.Errorf("%s: a good tool answers %s", what, got)
		}
	}
}
