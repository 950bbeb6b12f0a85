package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
)

// tenConditions make a policy of ten rules, none of which matches.
func tenConditions(b *testing.B) *policy.Policy {
	var src strings.Builder
	src.WriteString("policy \"user\" {\n")
	for i := range 10 {
		fmt.Fprintf(&src, "  rule \"r%d\" {\n    effect = \"deny\"\n    when   = args.path == \"x%d\" || matches(\"^y%d\", "+
			"args.mode)\n  }\n", i, i, i)
	}
	c, err := Parse("config.hcl", []byte(src.String()+"}\n"))
	if err != nil {
		b.Fatal(err)
	}
	p, err := policy.New(c.Policies...)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// A large argument that no rule names costs next to nothing.
func BenchmarkTenConditions(b *testing.B) {
	p := tenConditions(b)
	for name, content := range map[string]string{"small": "text", "large": strings.Repeat("text ", 200_000)} {
		arguments := []byte(`{"path":"a/b.go","mode":"fast","content":"` + content + `"}`)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q := callWith("")
				q.Arguments = arguments
				if d := p.Decide(q); d.Effect != policy.Ask {
					b.Fatal(d)
				}
			}
		})
	}
}

func BenchmarkCommands(b *testing.B) {
	r := ruleWith(b, `anytrue([for c in commands(args.command) : c.name == "git" && contains(c.args, "--force")])`)
	b.ReportAllocs()
	for b.Loop() {
		if got, err := r.When(callWith(`{"command":"cd web && git add . && git commit -m x && ls -l | wc ` +
			`-l"}`)); got != policy.No || err != nil {
			b.Fatal(got, err)
		}
	}
}

func BenchmarkLoadContract(b *testing.B) {
	src := []byte(samplePolicies)
	for b.Loop() {
		if _, err := Parse("config.hcl", src); err != nil {
			b.Fatal(err)
		}
	}
}

// Loops over an argument of a megabyte end with an error, and early.
func BenchmarkTooMuchWork(b *testing.B) {
	items := func(item string) string {
		return `{"xs":[` + strings.TrimSuffix(strings.Repeat(item+",", 900_000/(len(item)+1)), ",") + `]}`
	}
	for name, arguments := range map[string]string{"many": items(`"a"`),
		"long": items(`"` + strings.Repeat("a", 800) + `"`), "deep": items(`["a","b",["c"]]`), "numbers": items("1"),
		"objects": items(`{"a":1}`),
		"within":  `{"xs":[` + strings.Repeat(`"a",`, 30_000) + `"a"]}`, "objects within": `{"xs":[` +
			strings.Repeat(`{"a":1},`, 15_000) + `1]}`, "few": `{"xs":[` +
			strings.Repeat(`"`+strings.Repeat("a", 900)+`",`, 999) + `"a"]}`} {
		for kind, when := range map[string]string{
			"double": `anytrue([for a in args.xs : anytrue([for b in args.xs : a == b && a != b])])`,
			"single": `anytrue([for a in args.xs : a == null])`,
		} {
			r := ruleWith(b, when)
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = r.When(callWith(arguments))
				}
			})
		}
	}
}
