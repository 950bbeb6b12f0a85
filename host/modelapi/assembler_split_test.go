package modelapi_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
)

var offered = []string{"readfile__read", "shell__exec", "edit__write", "a__a"}

// A written call is a call written by a model, and the pieces that a server makes of it.
type written struct {
	id, name, text       string
	namePieces, argument []string
}

func drawCall(t *rapid.T, id string) written {
	w := written{id: id, name: rapid.SampledFrom(offered).Draw(t, "name")}
	out, err := json.Marshal(drawObject(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	w.text = rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t,
		"before") + string(out) + rapid.SampledFrom([]string{"", " \n"}).Draw(t, "after")
	w.namePieces, w.argument = drawSplit(t, w.name), drawSplit(t, w.text)
	return w
}

func drawObject(t *rapid.T, depth int) map[string]any {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c"\\é{}]{0,3}`), 0, 4, rapid.ID).Draw(t, "names")
	out := map[string]any{}
	for _, n := range names {
		out[n] = drawValue(t, depth+1)
	}
	return out
}

func drawValue(t *rapid.T, depth int) any {
	kinds := 6
	if depth > 3 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.String().Draw(t, "string")
	case 1:
		return rapid.SampledFrom([]json.Number{"0", "-1", "12.50", "1e400", "12345678901234567890"}).Draw(t, "number")
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return nil
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawValue(t, depth+1))
		}
		return list
	}
	return drawObject(t, depth)
}

// drawSplit cuts a text between characters.
func drawSplit(t *rapid.T, text string) (pieces []string) {
	for text != "" {
		n := rapid.IntRange(0, min(len(text), 9)).Draw(t, "cut")
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

// serve returns the chunks of the calls, interleaved.
func serve(t *rapid.T, f modelapi.Format, calls []written) (chunks [][]byte) {
	left := make([][][]byte, len(calls))
	for i, w := range calls {
		left[i] = vendors[f](i, w)
	}
	for {
		open := slices.Collect(func(yield func(int) bool) {
			for i := range left {
				if len(left[i]) > 0 && !yield(i) {
					return
				}
			}
		})
		if len(open) == 0 {
			return append(chunks, ends[f]...)
		}
		i := rapid.SampledFrom(open).Draw(t, "turn")
		chunks, left[i] = append(chunks, left[i][0]), left[i][1:]
	}
}

var ends = map[modelapi.Format][][]byte{
	modelapi.FormatOpenAI:          {[]byte(chatStop), []byte("[DONE]")},
	modelapi.FormatOpenAIResponses: {[]byte(`{"type":"response.completed","response":{}}`)},
	modelapi.FormatAnthropic: {[]byte(`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`),
		[]byte(`{"type":"message_stop"}`)},
	modelapi.FormatBedrock: {[]byte(`{"messageStop":{"stopReason":"tool_use"}}`), []byte(`{"metadata":{"usage":{}}}`)},
	modelapi.FormatCohere:  {[]byte(`{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}`)},
}

type object = map[string]any

var vendors = map[modelapi.Format]func(i int, w written) [][]byte{
	modelapi.FormatOpenAI: func(i int, w written) (out [][]byte) {
		for _, p := range w.namePieces {
			out = append(out, chat(i, w.id, p, ""))
		}
		for _, p := range w.argument {
			out = append(out, chat(i, "", "", p))
		}
		return out
	},
	modelapi.FormatOpenAIResponses: func(i int, w written) [][]byte {
		out := [][]byte{jsonOf(object{"type": "response.output_item.added", "output_index": i,
			"item": object{"type": "function_call", "id": "fc" + w.id, "call_id": w.id, "name": w.name, "arguments": ""}})}
		for _, p := range w.argument {
			out = append(out, jsonOf(object{"type": "response.function_call_arguments.delta", "output_index": i,
				"item_id": "fc" + w.id, "delta": p}))
		}
		return append(out, jsonOf(object{"type": "response.function_call_arguments.done", "output_index": i, "item_id": "fc" +
			w.id, "arguments": w.text}))
	},
	modelapi.FormatAnthropic: func(i int, w written) [][]byte {
		out := [][]byte{jsonOf(object{"type": "content_block_start", "index": i,
			"content_block": object{"type": "tool_use", "id": w.id, "name": w.name, "input": object{}}})}
		for _, p := range w.argument {
			out = append(out, jsonOf(object{"type": "content_block_delta", "index": i,
				"delta": object{"type": "input_json_delta", "partial_json": p}}))
		}
		return append(out, jsonOf(object{"type": "content_block_stop", "index": i}))
	},
	modelapi.FormatBedrock: func(i int, w written) [][]byte {
		out := [][]byte{jsonOf(object{"contentBlockStart": object{"contentBlockIndex": i,
			"start": object{"toolUse": object{"toolUseId": w.id, "name": w.name}}}})}
		for _, p := range w.argument {
			out = append(out, jsonOf(object{"contentBlockDelta": object{"contentBlockIndex": i,
				"delta": object{"toolUse": object{"input": p}}}}))
		}
		return append(out, jsonOf(object{"contentBlockStop": object{"contentBlockIndex": i}}))
	},
	modelapi.FormatCohere: func(i int, w written) [][]byte {
		event := func(kind, id, name, text string) []byte {
			return jsonOf(object{"type": kind, "index": i, "delta": object{"message": object{"tool_calls": object{"id": id,
				"type": "function", "function": object{"name": name, "arguments": text}}}}})
		}
		out := [][]byte{event("tool-call-start", w.id, w.name, "")}
		for _, p := range w.argument {
			out = append(out, event("tool-call-delta", "", "", p))
		}
		return append(out, jsonOf(object{"type": "tool-call-end", "index": i}))
	},
}

func jsonOf(v any) []byte {
	out, _ := json.Marshal(v)
	return out
}

// However a server cuts the calls into pieces and mixes the pieces, the calls are those that the model wrote; and what
// is shown on the way is valid, and the beginning of what comes.
func TestAnySplitGivesTheSameCalls(t *testing.T) {
	t.Parallel()
	for f := range vendors {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				var calls []written
				for _, id := range []string{"call_1", "call_2", "call_3"}[:rapid.IntRange(1, 3).Draw(t, "calls")] {
					calls = append(calls, drawCall(t, id))
				}
				a, _ := modelapi.NewAssembler(f, offered...)
				seen := map[int]modelapi.CallState{}
				for _, c := range serve(t, f, calls) {
					states, err := a.Add(c)
					if err != nil {
						t.Fatal(err)
					}
					for _, s := range states {
						checkShown(t, s, calls)
						seen[s.Index] = s
					}
				}
				if left := a.End(); len(left) > 0 {
					t.Errorf("the end changed %+v", left)
				}
				checkCalls(t, a.Calls(), calls, seen)
			})
		})
	}
}

func checkCalls(t *rapid.T, got []host.Call, want []written, seen map[int]modelapi.CallState) {
	byID := map[string]host.Call{}
	for _, c := range got {
		byID[c.ID] = c
	}
	for _, w := range want {
		if c := byID[w.id]; c.Tool != w.name || string(c.Arguments) != w.text {
			t.Errorf("call %s is %s %s\nwant %s %s", w.id, c.Tool, c.Arguments, w.name, w.text)
		}
	}
	for _, s := range seen {
		if s.Status != host.Generated || s.Partial.String() != strings.TrimRight(string(s.Arguments), " \n") {
			t.Errorf("at last %s, shown %s of %s", s.Status, s.Partial, s.Arguments)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d calls, want %d", len(got), len(want))
	}
}

// checkShown compares what is shown of a call with the whole.
func checkShown(t *rapid.T, s modelapi.CallState, calls []written) {
	i := slices.IndexFunc(calls, func(w written) bool { return w.id == s.ID })
	if i < 0 || s.Partial.IsZero() {
		return
	}
	if repeats(calls[i].argument) && !strings.HasPrefix(calls[i].text, string(s.Arguments)) {
		return // it may or may not repeat the whole: the calls show which
	}
	shown, whole := valueOf(s.Partial.String()), valueOf(calls[i].text)
	if shown == nil || !isBeginning(shown, whole) {
		t.Errorf("of %s is shown %s, which is no beginning of %s", s.Arguments, s.Partial, calls[i].text)
	}
}

// repeats is true when the second piece begins with the first, like all there is so far.
func repeats(pieces []string) bool {
	said := slices.DeleteFunc(slices.Clone(pieces), func(p string) bool { return p == "" })
	return len(said) > 1 && strings.HasPrefix(said[1], said[0])
}

func valueOf(text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&v) // nil occurs in no tested value
	return v
}

// isBeginning is true when a shows a part of b, and nothing else.
func isBeginning(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && strings.HasPrefix(b, a)
	case []any:
		b, ok := b.([]any)
		return ok && len(a) <= len(b) && slices.EqualFunc(a, b[:len(a)], isBeginning)
	case map[string]any:
		b, ok := b.(map[string]any)
		for _, k := range slices.Collect(maps.Keys(a)) {
			v, there := b[k]
			ok = ok && there && isBeginning(a[k], v)
		}
		return ok
	}
	return a == b
}
