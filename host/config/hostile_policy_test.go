package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/policy"
)

// Policies made to exhaust the stack, the memory or the time of who reads them are answered soon.
func TestHostilePolicies(t *testing.T) {
	again := strings.Repeat
	when := func(condition string) string {
		return "policy \"user\" {\n rule \"r\" {\n effect = \"deny\"\n when = " + condition + "\n}\n}\n"
	}
	list := "locals {\n a = [" + again("0,", 9_000) + "]\n}\n"
	cases := map[string]struct{ src, want string }{
		"loops in loops": {list + when("anytrue([for x in local.a : anytrue([for y in local.a : x + y == 1])])"),
			"too much work"},
		"large choice":    {list + when("(args.a == 1 ? local.a : [for x in local.a : \"a\"]) == 1"), "too much work"},
		"conditionals":    {when(again("true?true:", 5_000) + "true"), "more than 64 operators"},
		"ands":            {when(again("true&&", 9_000) + "true"), "more than 64 operators"},
		"calls":           {when(again("lower(", 97) + "args.a" + again(")", 97) + ` == ""`), ""},
		"deep calls":      {when(again("lower(", 9_000)), "more than 100 brackets"},
		"indexes":         {when("args.a" + again("[0]", 9_000) + " == 1"), ""},
		"computed":        {when("args.a" + again("[args.b]", 5_000) + " == 1"), ""},
		"long template":   {when(`"` + again("${args.a}", 5_000) + `" == ""`), ""},
		"large template":  {list + "locals {\n b = join\n}\n", "there is nothing called"},
		"many arguments":  {when("contains([" + againf(5_000, "args.a%d,") + "], 1)"), ""},
		"many patterns":   {when("contains([" + againf(1_500, `matches("([a-z]{9}%d){9}", args.a),`) + "], true)"), ""},
		"large patterns":  {when(`matches("` + again("(a|b)", 5_000) + `", args.a)`), "has 25000 bytes"},
		"deep pattern":    {when(`matches("` + again("(", 500) + again(")", 500) + `", args.a)`), ""},
		"doubled pattern": {when(`matches("` + again("(", 9) + "a" + again("{9})", 9) + `", args.a)`), "cannot be read"},
		"many rules":      {"policy \"user\" {\n" + lines(2_000, ` rule "r%d" { effect = "ask" }`) + "}", ""},
		"many examples": {
			list + "policy \"user\" {\n rule \"r\" {\n effect = \"deny\"\n when = anytrue([for x in local.a : x == args.n])\n " +
				"match = [" +
				again("{n=0},", 5_000) + "]\n}\n}\n", "too much work",
		},
		"many commands": {
			"policy \"user\" {\n rule \"r\" {\n commands {\n allow = [" + againf(3_000, `"c%d",`) + "]\n asks = [" +
				again(`"x",`, 4_000) + "]\n}\n}\n}\n", "",
		},
		"long command": {
			"policy \"user\" {\n rule \"r\" {\n commands {\n asks = [\"" + again("$(a;", 3_000) + again(")", 3_000) +
				"\"]\n}\n}\n}\n", "",
		},
		"many includes": {
			"profile \"a\" {\n" + lines(800, ` rule "r%d" { effect = "ask" }`) + "}\n" +
				lines(900, `profile "p%d" { include = ["a"] }`),
			"the values that this file repeats",
		},
		"one profile, many times": {
			"profile \"a\" {}\nprofile \"b\" {\n include = [" + again(`"a",`, 9_000) + "]\n}\n" +
				lines(500, `profile "p%d" { include = ["b"] }`),
			"the values that this file repeats",
		},
		"profiles in a circle": {lines(1_000, `profile "p%[1]d" { include = ["p%[1]d", "p0"] }`), "includes itself"},
		"many layers":          {again("policy \"user\" {\n}\n", 3_000), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := soon(t, c.src)
			if (c.want == "") != (text == "") || !strings.Contains(text, c.want) {
				t.Errorf("error %.2000s\nwants %q", text, c.want)
			}
		})
	}
}

func againf(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// FuzzCondition holds for any condition and any arguments: no panic, an answer in time, and the same twice.
func FuzzCondition(f *testing.F) {
	for _, when := range []string{
		`args.a == "x" && !args.b`,
		`anytrue([for c in commands(args.a) : c.name == "git" && contains(c.args, "--force")])`,
		`inside(args.a, ".") || matches("^a+$", args.a)`,
		`alltrue([for k, v in args.o : length(v) > 1 ? true : lookup(args.o, "b", null) == v])`,
		`"${args.a}-${tool}" == join("-", [args.a, caller])`,
	} {
		f.Add(when, `{"a":"git push $x --force","b":true,"o":{"b":[1,2.5,null]}}`)
	}
	f.Fuzz(func(t *testing.T, when, arguments string) {
		if took := work(t, func() { tryCondition(t, when, arguments) }); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func tryCondition(t *testing.T, when, arguments string) {
	c, err := Parse("config.hcl",
		[]byte("policy \"user\" {\n  rule \"r\" {\n    effect = \"deny\"\n    when = "+when+"\n  }\n}\n"))
	if err != nil || len(c.Policies) == 0 || !json.Valid([]byte(arguments)) {
		return
	}
	for _, r := range c.Policies[0].Rules {
		tryRule(t, &r, arguments)
	}
}

// tryRule asks a rule twice about a call.
func tryRule(t *testing.T, r *policy.Rule, arguments string) {
	if r.When != nil {
		first, err := r.When(callWith(arguments))
		second, again := r.When(callWith(arguments))
		if first != second || (err == nil) != (again == nil) {
			t.Errorf("two answers: %v %v, %v %v", first, err, second, again)
		}
	}
	if r.Judge != nil {
		first, err := r.Judge(callWith(arguments))
		second, again := r.Judge(callWith(arguments))
		if first != second || (err == nil) != (again == nil) {
			t.Errorf("two answers: %v %v, %v %v", first, err, second, again)
		}
	}
}
