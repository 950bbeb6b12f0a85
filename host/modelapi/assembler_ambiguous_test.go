package modelapi_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/modelapi"
)

// Where neither an index nor an id tells the parts of parallel calls apart, none of the calls that come out is one that
// the model did not make, however the parts are mixed: all else is refused.
func TestCallsThatNothingTellsApart(t *testing.T) {
	t.Parallel()
	texts := []string{`{"path":"a"}`, `{"path":"ab"}`, `{"a":{"b":1}}`, `{"x":1,"y":"z"}`, `{"path":"a"}`}
	pieces := map[string]func(text string, cut int) []string{
		"whole":       func(text string, _ int) []string { return []string{text} },
		"whole twice": func(text string, _ int) []string { return []string{text, text} },
		"pieces":      func(text string, cut int) []string { return []string{text[:cut], text[cut:]} },
	}
	for shape, split := range pieces {
		for _, nameEach := range []bool{false, true} {
			for _, ids := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, name each time %t, ids at first %t", shape, nameEach, ids), func(t *testing.T) {
					t.Parallel()
					r := rand.New(rand.NewPCG(1, 2))
					for range 1000 {
						var parts [][][]byte
						meant := map[string]int{}
						for i := range 2 + r.IntN(2) {
							name, text := []string{"a__a", "a__b"}[r.IntN(2)], texts[r.IntN(len(texts))]
							meant[name+" "+text]++
							var call [][]byte
							for j, piece := range slices.Concat([]string{"", ""}[r.IntN(2):1], split(text, 1+r.IntN(len(text)-1))) {
								delta := object{"function": object{"arguments": piece}}
								if j == 0 || nameEach {
									delta["function"] = object{"arguments": piece, "name": name}
								}
								if j == 0 && ids {
									delta["id"] = fmt.Sprint("call_", i)
								}
								call = append(call, jsonOf(object{"choices": []any{object{"delta": object{"tool_calls": []any{delta}}}}}))
							}
							parts = append(parts, call)
						}
						a := assembler(t, modelapi.FormatOpenAI, "a__a", "a__b")
						sent := ""
						for len(parts) > 0 {
							i := r.IntN(len(parts))
							sent += string(parts[i][0]) + "\n"
							add(t, a, parts[i][0])
							if parts[i] = parts[i][1:]; len(parts[i]) == 0 {
								parts = slices.Delete(parts, i, i+1)
							}
						}
						add(t, a, []byte(chatStop))
						for _, c := range a.Calls() {
							if meant[c.Tool+" "+string(c.Arguments)]--; meant[c.Tool+" "+string(c.Arguments)] < 0 {
								t.Fatalf("%s %s was not meant, or once less, in\n%s", c.Tool, c.Arguments, sent)
							}
						}
						if len(a.Calls()) == 0 && len(a.Refused()) == 0 {
							t.Fatalf("nothing came out of\n%s", sent)
						}
					}
				})
			}
		}
	}
}

// The arguments of a call that has neither index nor id are not copied for each piece.
func TestLongCallWithoutIndex(t *testing.T) { // alone, as it measures memory
	a, piece := assembler(t, modelapi.FormatOpenAI), strings.Repeat("x", 100)
	delta := func(name, text string) []byte {
		return jsonOf(object{"choices": []any{object{"delta": object{"tool_calls": []any{object{"function": object{
			"name": name, "arguments": text}}}}}}})
	}
	add(t, a, delta("a__a", `{"x":"`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 5000 {
		if _, err := a.Add(delta("", piece)); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 100<<20 {
		t.Errorf("%d MB for 500 KB", got>>20)
	}
}
