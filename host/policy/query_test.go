package policy_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host/policy"
)

func TestArgument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, object, argument, want string }{
		{"a string", `{"a":"x"}`, "a", `"x"`},
		{"null is there", `{"a":null}`, "a", `null`},
		{"a number at the end", `{"b":true,"a":-1.5e+3}`, "a", `-1.5e+3`},
		{"an object", `{"a":{"b":[1,{"c":"}"}]},"d":1}`, "a", `{"b":[1,{"c":"}"}]}`},
		{"an array", `{"a":[[],"]",[{}]],"d":1}`, "a", `[[],"]",[{}]]`},
		{"behind all others", `{"x":[1,2],"y":{"a":1},"z":"\"a\":2","a":3}`, "a", `3`},
		{"blanks everywhere", "\r\n {\t\"a\"  :\n [ 1 , 2 ]\t, \"b\" : 2 } \n", "a", `[ 1 , 2 ]`},
		{"a blank before the end", "{\"a\" : 2 \n}", "a", `2`},
		{"names are not values", `{"b":"a","c":["a",1]}`, "a", ""},
		{"names further in are not meant", `{"b":{"a":1}}`, "a", ""},
		{"case counts", `{"A":1}`, "a", ""},
		{"an escaped name", `{"\u0061\"\\":1}`, `a"\`, `1`},
		{"a name beyond the first plane", `{"\ud83d\ude00":1}`, "\U0001f600", `1`},
		{"the empty name", `{"":1}`, "", `1`},
		{"a quote behind a backslash", `{"b":"\\\"","a":1}`, "a", `1`},
		{"backslashes at the end", `{"b":"\\\\","a":"\\"}`, "a", `"\\"`},
		{"of two, the last, as other readers do", `{"a":1,"a":2}`, "a", `2`},
		{"an empty object", `{}`, "a", ""},
		{"nothing", ``, "a", ""},
		{"null", `null`, "a", ""},
		{"an array of names", `["a","a"]`, "b", ""},
		{"what stands before the text breaks off", `{"a":1,"b":"x`, "a", `1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := policy.Query{Arguments: json.RawMessage(c.object)}
			for range 2 { // the second time from memory
				if got := q.Argument(c.argument); string(got) != c.want || (got == nil) != (c.want == "") {
					t.Errorf("%q", got)
				}
			}
		})
	}
}

// Appending to a returned argument does not write into the call.
func TestArgumentEndsWhereItEnds(t *testing.T) {
	t.Parallel()
	q := policy.Query{Arguments: json.RawMessage(`{"a":1,"b":2}`)}
	_ = append(q.Argument("a"), "0000"...)
	if string(q.Arguments) != `{"a":1,"b":2}` {
		t.Errorf("the arguments became %s", q.Arguments)
	}
}

// Of valid objects it gives what encoding/json gives; on anything else it does not panic and changes nothing.
func FuzzArgument(f *testing.F) {
	for _, seed := range []string{`{}`, ` { "a" : 1 , "b" : [ { } , "x" ] } `, `{"\u0061\"\\\/":"\\\\\"","":null}`,
		`{"a":{"b":{"c":[[[["]}"]]]]}},"d":1e400}`,
		"{\"\xff\":1,\"\\ud800\":2}", `{"a":"` + strings.Repeat(`\\`, 50) + `","b":"` + strings.Repeat(`\"`, 50) + `"}`,
		`{"a":1,"a":2}`,
		`{"a":`, `{"a"`, `{"a":1,`, `{"a":"\`, `{,}`, `{"a":}`, `{"a":]1}`, `{"a":[}],"b":1}`, `"a":1`, `["a",1]`, "\x00",
		`{"a" 1 "b"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		q := policy.Query{Arguments: text}
		q.Argument("a")
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) == nil {
			checkArguments(t, &q, want)
		}
		if !bytes.Equal(before, text) {
			t.Errorf("%q became %q", before, text)
		}
	})
}

type failing interface{ Errorf(string, ...any) }

func checkArguments(t failing, q *policy.Query, want map[string]json.RawMessage) {
	for name, value := range want {
		if got := q.Argument(name); !bytes.Equal(got, value) {
			t.Errorf("of %q %q is %q, not %q", q.Arguments, name, got, value)
		}
	}
	const absent = "a name that nobody draws"
	if _, there := want[absent]; !there && q.Argument(absent) != nil {
		t.Errorf("of %q there is %q", q.Arguments, q.Argument(absent))
	}
}

// Objects of drawn names and values, written plainly, with blanks, and with an escaped letter.
func TestArgumentProperties(t *testing.T) {
	t.Parallel()
	word := rapid.StringOfN(rapid.RuneFrom([]rune("ab\"\\{}[]:, \t\n\u00e9\U0001f600\u2028")), 0, 12, -1)
	value := rapid.OneOf(word.AsAny(), rapid.Float64().AsAny(), rapid.Bool().AsAny(), rapid.SliceOfN(word, 0, 3).AsAny(),
		rapid.MapOfN(word, rapid.SliceOfN(word, 0, 2), 0, 3).AsAny(), rapid.Just[any](nil))
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOfN(word, value, 0, 5).Draw(t, "object")
		plain, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, plain, "\r\n", "\t "); err != nil {
			t.Fatal(err)
		}
		escaped := bytes.ReplaceAll(bytes.ReplaceAll(plain, []byte("a"), []byte(`\u0061`)), []byte("f\\u0061lse"),
			[]byte("false"))
		for _, text := range [][]byte{plain, spaced.Bytes(), escaped} {
			var want map[string]json.RawMessage
			if err := json.Unmarshal(text, &want); err != nil || len(want) != len(object) {
				t.Fatalf("%q has %d of %d members: %v", text, len(want), len(object), err)
			}
			checkArguments(t, &policy.Query{Arguments: text}, want)
		}
	})
}

// Texts on which a reader that looks back, or looks twice, would need minutes.
func TestArgumentTakesTimeInProportion(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	fill := func(before, again, behind string) string {
		return before + strings.Repeat(again, size/len(again)) + behind
	}
	for name, text := range map[string]string{
		"plain string":     fill(`{"b":"`, `x`, `","a":1}`),
		"backslashes":      fill(`{"b":"`, `\\`, `","a":1}`),
		"escaped quotes":   fill(`{"b":"`, `\"`, `","a":1}`),
		"in a name":        fill(`{"`, `\"`, `":2,"a":1}`),
		"opened":           fill(`{"b":`, `[`, ``),
		"opened and named": fill(``, `{"b":`, ``),
		"short values":     fill(`{"b":[`, `1,`, `1],"a":1}`),
		"short strings":    fill(`{"b":[`, `"",`, `1],"a":1}`),
		"members":          fill(`{`, `"b":0,`, `"a":1}`),
		"blanks":           fill(`{"b":[1`, ` `, `],"a":1}`),
		"digits":           fill(`{"b":`, `1`, `,"a":1}`),
		"commas":           fill(`{"b":`, `,`, `,"a":1}`),
		"quotes":           fill(`{`, `"`, `,"a":1}`),
		"never closed":     fill(`{"b":"`, `\\\"`, ``),
	} {
		t.Run(name, func(t *testing.T) {
			q := policy.Query{Arguments: json.RawMessage(text)}
			start := time.Now()
			got := q.Argument("a")
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if json.Valid(q.Arguments) && string(got) != "1" {
				t.Errorf("the argument is %.20q", got)
			}
		})
	}
}
