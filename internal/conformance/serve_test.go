//go:build unix

package conformance

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Over standard input and output clients of both eras list the same tools, and each call gives what the tool returned,
// byte for byte.
func TestServeFixture(t *testing.T) {
	var lists []string
	for _, revision := range []string{handshake, modern} {
		t.Run(revision, func(t *testing.T) {
			c := newBed(t, fixtureConfig(t)).mcp(revision, "--plain-names")
			names := c.tools()
			if !slices.Contains(names, "test_simple_text") || !slices.Contains(names, "json_schema_2020_12_tool") {
				t.Fatalf("listed: %q", names)
			}
			lists = append(lists, strings.Join(names, " "))
			for _, call := range []struct{ tool, arguments, want string }{
				{"test_simple_text", `{}`, `{"type":"text","text":"This is a simple text response for testing."}`},
				{"test_error_handling", `{}`, `"isError":true`},
				{"test_tool_with_progress", `{}`, `Progress was reported.`},
				{"json_schema_2020_12_tool", `{"phone":"1"}`, `"isError":true`}, // else asks for an e-mail address
				{"json_schema_2020_12_tool", `{"email":"a@b.c"}`, `"fits"`},
				{"no_such_tool", `{}`, ``},
			} {
				if call.tool == "no_such_tool" {
					if m := c.start("tools/call", `{"name":"no_such_tool","arguments":{}}`).wait(); !bytes.Contains(m.Error,
						[]byte("-32602")) {
						t.Errorf("an unknown tool gives %s%s", m.Error, m.Result)
					}
					continue
				}
				if got := c.call(call.tool, call.arguments); !strings.Contains(string(got), call.want) {
					t.Errorf("%s gives %s", call.tool, got)
				}
			}
			odd := c.call("odd_result", "{}")
			for _, want := range oddParts {
				if !bytes.Contains(odd, []byte(want)) {
					t.Errorf("%s is not in %s", want, odd)
				}
			}
		})
	}
	if len(lists) == 2 && lists[0] != lists[1] {
		t.Errorf("the eras list\n%s\n%s", lists[0], lists[1])
	}
}

// oddParts are what the result of odd_result has, byte for byte.
var oddParts = []string{
	strings.Trim(strconv.Quote(oddUnknownPart), `"`), // in a text
	`"structuredContent":{"zebra":9007199254740993,"alpha":[1.0,1e3,-0.0,18446744073709551615],` +
		`"nested":{"b":null,"a":"<&>\u2028"},"empty":{}}`,
	`"example.org/z":1,"example.org/a":9007199254740993`,
	`"annotations":{"priority":0.5,"audience":["user","assistant"]},"_meta":{"example.org/part":true}`,
	`"title":"A link","description":"Of some size","size":9007199254740993,"_meta":{"example.org/l":[]}`,
	`"_meta":{"example.org/inner":{"z":1,"a":2}}`,
}

// A cancelled call ends its tool, and the server continues.
func TestCancel(t *testing.T) {
	for _, revision := range []string{handshake, modern} {
		t.Run(revision, func(t *testing.T) {
			c := newBed(t, fixtureConfig(t)).mcp(revision, "--plain-names")
			p := c.start("tools/call", `{"name":"wait","arguments":{"seconds":3000},"_meta":{"progressToken":"w"}}`)
			until(t, "the call runs", func() bool { return len(c.received("notifications/progress")) > 0 })
			c.send(message{Method: "notifications/cancelled", Params: json.RawMessage(`{"requestId":` + p.id + `}`)})
			if text := c.text("test_simple_text", "{}"); !strings.Contains(text, "simple text") {
				t.Error(text)
			}
		})
	}
}
