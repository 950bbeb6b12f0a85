package modelapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
)

// streamText reads a text that comes in pieces; the states are the last ones of each call.
func streamText(t rapid.TB, pieces ...string) (calls []host.Call, refused []*host.Result, last map[int]modelapi.CallState) {
	t.Helper()
	a, last := assembler(t, modelapi.FormatText), map[int]modelapi.CallState{}
	for _, p := range pieces {
		states := add(t, a, []byte(p))
		checkStates(t, states)
		for _, s := range states {
			last[s.Index] = s
		}
	}
	for _, s := range a.End() {
		last[s.Index] = s
	}
	return a.Calls(), a.Refused(), last
}

// A stream answers what is no call.
func TestTextStreamErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, want string }{
		"no name":              {fenced("tool_call", `{"arguments":{}}`), "NameMissing"},
		"cut before the name":  {"```tool_call\n{\"na", "TruncatedCall"},
		"cut off":              {strings.TrimSuffix(plainCall, "```\n"), "TruncatedCall"},
		"a long name":          {fenced("tool_call", `{"name":"`+strings.Repeat("a", 2000)+`"}`), "LabelTooLong"},
		"large arguments":      {fenced("tool_call", `{"name":"p__a","arguments":{"x":"`+strings.Repeat("a", 1<<20)+`"}}`), "ArgumentsTooLarge"},
		"a large block":        {fenced("tool_call", strings.Repeat(" ", 9<<20)+`{"name":"p__a"}`), "ArgumentsTooLarge"},
		"a large listed block": {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\n"+strings.Repeat("a\n", 5<<20)+"```\nEND_ARG"), "ArgumentsTooLarge"},
		"not Unicode":          {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\n\xff\nEND_ARG"), "MalformedArguments"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pieces := []string{c.text}
			if c.want != "TruncatedCall" {
				pieces = append(pieces, plainCall)
			}
			good, refused, _ := streamText(t, pieces...)
			if len(good) != len(pieces)-1 {
				t.Errorf("behind it %+v are run", good)
			}
			if len(refused) != 1 || refused[0].Error.Name != c.want || refused[0].CallID == "" {
				t.Errorf("refused %+v, want %s", refused, c.want)
			}
		})
	}
}

// A call that is being written is shown as far as it goes, and no brace of what is around it.
func TestTextStreamShows(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatText)
	steps := []struct{ piece, want string }{
		{"I look.\n``", ""},
		{"`tool_call", ""},
		{"\n", "[0] generating (made) -"},
		{`{"name": "p__`, ""},
		{`a", "arguments"`, "[0] generating (made) p__a"},
		{` : {"x": "é` + "\xc3", `[0] generating (made) p__a "{\"x\": \"é" shows {"x": "é"}`},
		{"\xa9", `[0] generating (made) p__a "{\"x\": \"éé" shows {"x": "éé"}`},
		{`"}}`, `[0] generating (made) p__a "{\"x\": \"éé\"}" shows {"x": "éé"}`},
		{"\n```", ""},
		{"\n", `[0] generated (made) p__a "{\"x\": \"éé\"}"`},
		{"```tool\nTOOL_NAME: p__b\nBEGIN_ARG: x\na", "[1] generating (made) p__b \"{\" shows {}"},
		{"\nEND_ARG\n", `[1] generating (made) p__b "{\"x\":\"a\"" shows {"x":"a"}`},
		{"```\n", `[1] generated (made) p__b "{\"x\":\"a\"}"`},
	}
	for _, s := range steps {
		var got []string
		for _, state := range add(t, a, []byte(s.piece)) {
			got = append(got, strings.Replace(stateWords(state, nil), "generating - ", "generating (made) ", 1))
		}
		diff(t, s.want, strings.ReplaceAll(strings.Join(got, "\n"), " - p__", " (made) p__"))
	}
}

// A large piece is shown like small ones; names that come behind the arguments are known at the end.
func TestTextStreamShowsLargePieces(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatText)
	long := strings.Repeat("a", 9000)
	states := add(t, a, []byte("```tool_call\n{\"name\":\"p__a\",\"arguments\":{\"x\":\""+long))
	if len(states) != 1 || states[0].Tool != "p__a" || states[0].Partial.String() != `{"x":"`+long+`"}` {
		t.Errorf("%.200v", states)
	}
	states = add(t, a, []byte("\"}}\n```\n```tool_call\n{\"arguments\":{\"x\":1},\"name\":\"p__b"))
	if len(states) != 2 || states[0].Status != host.Generated || states[1].Tool != "" || states[1].Partial.String() != `{"x":1}` {
		t.Errorf("%.200v", states)
	}
	if states = add(t, a, []byte("\"}\n```\n")); len(states) != 1 || states[0].Tool != "p__b" || states[0].Status != host.Generated {
		t.Errorf("%.200v", states)
	}
}

// Wherever a text is cut into pieces, its calls are the same.
func TestAnySplitOfATextGivesTheSameCalls(t *testing.T) {
	t.Parallel()
	bits := []string{"```tool_call\n", "```tool\n", "````md\n", "```\n", "````\n", "~~~\n", "text\n", "\n", `{"name":"p__a","arguments":{"x":"é`, `"}}` + "\n",
		`{"arguments":{},"name":"p__a"}` + "\n", "TOOL_NAME: p__a\n", "BEGIN_ARG: x\n", "END_ARG\n", "END_ARG", "```", "\xc3"}
	for _, c := range textMessages {
		if len(c.text) < 1000 {
			bits = append(bits, c.text)
		}
	}
	slicesOf := rapid.SliceOfN(rapid.SampledFrom(bits), 0, 8)
	rapid.Check(t, func(r *rapid.T) {
		text := strings.Join(slicesOf.Draw(r, "text"), "")
		var pieces []string
		for left := text; left != ""; {
			n := rapid.IntRange(1, min(len(left), 20)).Draw(r, "cut")
			pieces, left = append(pieces, left[:n]), left[n:]
		}
		sameCalls(r, text, pieces)
	})
}

// sameCalls compares what comes of a text in pieces with that of the whole, and with ParseCalls.
func sameCalls(t rapid.TB, text string, pieces []string) {
	t.Helper()
	calls, refused, last := streamText(t, text)
	calls2, refused2, last2 := streamText(t, pieces...)
	ignore := cmp.Options{cmpopts.IgnoreFields(host.Call{}, "ID"), cmpopts.IgnoreUnexported(host.Call{}), cmpopts.IgnoreFields(host.Result{}, "CallID")}
	if d := cmp.Diff(calls, calls2, ignore) + cmp.Diff(refused, refused2, ignore); d != "" {
		t.Errorf("%q as %q: (-at once +in pieces):\n%s", text, pieces, d)
	}
	for i, s := range last {
		if s.Status != last2[i].Status || s.Partial.String() != last2[i].Partial.String() {
			t.Errorf("%q as %q: at last %+v, at once %+v", text, pieces, last2[i], s)
		}
	}
	parsed, err := modelapi.ParseCalls(modelapi.FormatText, []byte(text))
	if err == nil && len(parsed) != len(calls)+len(refused) && len(calls) < 128 {
		t.Errorf("%q: %d calls, in a stream %d and %d", text, len(parsed), len(calls), len(refused))
	}
}

func FuzzText(f *testing.F) {
	for _, c := range textMessages {
		f.Add(c.text, len(c.text)/2)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if cut >= 0 && cut <= len(text) {
			sameCalls(t, text, []string{text[:cut], text[cut:]})
		}
	})
}
