package when

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host/policy"
)

// A condition that is compiled to Go holds where HCL's evaluation says so.
func TestPlainConditions(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			c := conditionOf(t, drawCondition(t))
			if c == nil || c.plain == nil {
				continue
			}
			q := &policy.Query{Tool: "p__t", Caller: drawWord(t), Workdir: "/w", Arguments: drawTexts(t)}
			holds, ok := c.plain(q)
			if !ok {
				seen["not plain"]++
				continue
			}
			seen[fmt.Sprint(holds)]++
			want, err := c.ask(&policy.Query{Tool: q.Tool, Caller: q.Caller, Workdir: q.Workdir, Arguments: q.Arguments},
				&meter{left: maxSteps})
			if err != nil || holds != (want == policy.Yes) {
				t.Fatalf("%s of %s\nis %t, and for HCL %v with the error %v", c.expr.Range(), q.Arguments, holds, want, err)
			}
		}
	})
	for _, s := range []string{"true", "false", "not plain"} {
		if seen[s] == 0 {
			t.Errorf("no condition was ever %s", s)
		}
	}
}

// drawWord is sometimes a text that HCL would change.
func drawWord(t *rapid.T) string {
	return rapid.SampledFrom([]string{"x", "5", "", "xy", "é", "e\u0301", "a longer text of some steps"}).Draw(t, "word")
}

// drawTexts are arguments, most of them texts.
func drawTexts(t *rapid.T) json.RawMessage {
	args := map[string]any{}
	for _, name := range []string{"a", "b", "o", "l"} {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0: // absent
		case 1:
			args[name] = rapid.SampledFrom([]any{nil, 5, true, []string{"x"}, "quoted \"x\""}).Draw(t, "other")
		default:
			args[name] = drawWord(t)
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A condition that could take more steps than an evaluation has is not compiled, since HCL's evaluation would fail.
func TestPlainConditionsAreBounded(t *testing.T) {
	src := `matches("^[ab]{240}x", args.a)`
	if c := conditionOf(t, src); c.plain == nil {
		t.Error("a pattern is not compiled")
	}
	for range 5 {
		src = fmt.Sprintf("%s || %s", src, src)
	}
	if c := conditionOf(t, src); c.plain != nil {
		t.Error("32 large patterns are compiled")
	}
}
