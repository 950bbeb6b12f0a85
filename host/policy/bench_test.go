package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
)

// Each call is a new query, as on the route.
func BenchmarkDecide(b *testing.B) {
	small := `{"path":"src/main.go","all":true}`
	large := `{"content":"` + strings.Repeat(`line \"x\"\n`, 100_000) + `","path":"src/main.go"}`
	for _, c := range []struct {
		name, arguments string
		rules           []policy.Rule
		want            policy.Effect
	}{
		{"no rules", small, nil, policy.Ask},
		{"ten rules for other tools", small, ten(forOtherTools), policy.Ask},
		{"ten rules for other callers", small, ten(func(r *policy.Rule) { r.Callers = []string{"somebody"} }), policy.Ask},
		{"ten rules for other arguments", small, ten(func(r *policy.Rule) { r.When = argumentIs("path", `"b"`) }),
			policy.Ask},
		{"ten rules beside 1 MB", large, ten(forOtherTools), policy.Ask},
		{"ten rules of which one names an argument beside 1 MB", large, append(ten(forOtherTools)[:9], matching()),
			policy.Deny},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := policy.New(layer("user", c.rules...))
			if err != nil {
				b.Fatal(err)
			}
			q := query()
			q.Arguments = json.RawMessage(c.arguments)
			b.ReportAllocs()
			for b.Loop() {
				if d := p.Decide(new(*q)); d.Effect != c.want {
					b.Fatalf("decision %+v", d)
				}
			}
		})
	}
}

func ten(change func(*policy.Rule)) []policy.Rule {
	rules := make([]policy.Rule, 10)
	for i := range rules {
		rules[i] = rule(fmt.Sprintf("rule %d", i), policy.Deny)
		change(&rules[i])
	}
	return rules
}

func forOtherTools(r *policy.Rule) { r.Tools = []string{"q__*"} }

func matching() policy.Rule {
	r := rule("path", policy.Deny)
	r.Names, r.When = []string{"path"}, argumentIs("path", `"src/main.go"`)
	return r
}

// What a model sends at most: one long argument, or as many as there may be.
func BenchmarkArgument(b *testing.B) {
	many := make([]string, 40_000)
	for i := range many {
		many[i] = fmt.Sprintf(`"name_%d":"%d"`, i, i)
	}
	for name, text := range map[string]string{
		"plain 1 MB":    `{"b":"` + strings.Repeat("x", 1<<20) + `","a":1}`,
		"escapes 1 MB":  `{"b":"` + strings.Repeat(`\"`, 1<<19) + `","a":1}`,
		"numbers 1 MB":  `{"b":[` + strings.Repeat("1,", 1<<19) + `1],"a":1}`,
		"40000 members": `{` + strings.Join(many, ",") + `,"a":1}`,
	} {
		b.Run(name, func(b *testing.B) {
			object := json.RawMessage(text)
			b.SetBytes(int64(len(object)))
			b.ReportAllocs()
			for b.Loop() {
				q := policy.Query{Arguments: object}
				if string(q.Argument("a")) != "1" {
					b.Fatal("the argument was not found")
				}
			}
		})
	}
}
