package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/testutil"
)

// Files made to exhaust the stack, the memory or the time of a naive reader are rejected soon.
func TestHostile(t *testing.T) {
	t.Setenv("TOOLHOST_TEST_LARGE", strings.Repeat("x", 100_000))
	again := strings.Repeat
	cases := map[string]struct{ src, want string }{
		"parentheses":         {"a = " + again("(", 60_000), "more than 100 brackets"},
		"lists":               {"a = " + again("[", 60_000), "more than 100 brackets"},
		"objects":             {"a = " + again("{a=", 20_000), "more than 100 brackets"},
		"templates":           {"a = " + again(`"${`, 20_000), "more than 100 brackets"},
		"template directives": {"a = " + again(`"%{if `, 10_000), "more than 100 brackets"},
		"blocks":              {again("a {\n", 16_000), "more than 100 brackets"},
		"wrong ends":          {"a = " + again("(]", 30_000), "more than 100 brackets"},
		"nots":                {"a = " + again("!", 60_000) + "true", "more than 100 brackets or operators"},
		"minuses on lines":    {"a = (" + again("-\n", 30_000) + "1)", "more than 100 brackets or operators"},
		"deep enough": {
			`plugin "a" { config = { a = ` + again("[", 97) + again("]", 97) + " } }", "",
		},
		"sum":          {"locals {\n a = " + again("1+", 30_000) + "1\n}", "more than 64 operators"},
		"conditionals": {"locals {\n a = " + again("true?1:", 9_000) + "1\n}", "conditionals cannot be used here"},
		"directives": {"locals {\n a = \"" + again("%{if true}", 3_000) + again("%{endif}", 3_000) + "\"\n}",
			"conditionals cannot be used here"},
		"long product":   {"locals {\n a = " + again("1e300*", 60) + "1\n}", "a number that is too large"},
		"number in text": {`locals { a = "${1e600000000}" }`, "too long or too large"},
		"text as number": {`locals { a = "x${-"1e600000000"}" }`, "only written numbers"},
		"small number":   {"locals { a = 1e-600000000 }", "too long or too large"},
		"compared text":  {`locals { a = "1e600000000" > 1 }`, ""},
		"doubling":       {chain(40, `"${%s}${%[2]s}"`, `"x"`), "come to more than 1024 KiB"},
		"doubling lists": {chain(40, "[%s, %[2]s]", "1"), "come to more than 1024 KiB"},
		"deepening": {chain(500, again("[", 20)+"%s"+again("]", 20), "1"),
			"more than 100 lists or objects inside each other"},
		"chain":       {chain(3_000, "%s", "1"), ""},
		"wide circle": {chain(3_000, "%s", "local.v0"), "needs itself"},
		"environment": {"locals {\n" + lines(1500, `e%d = env("TOOLHOST_TEST_LARGE", "")`) + "}",
			"come to more than 1024 KiB"},
		"references": {"locals {\n a = env.TOOLHOST_TEST_LARGE\n b = [" + again("local.a,", 2_000) + "]\n}",
			"come to more than 1024 KiB"},
		"loops in loops": {"locals {\n a = [" + again("0,", 9_000) + "]\n b = [for x in local.a : [for y in local.a : y]]\n}",
			"loops cannot be used here"},
		"mistakes": {lines(6_000, "a%d = 1"), "6000 mistakes, the first 50 are shown"},
		"mistakes in a line": {
			`plugin "a" { command = [` + again("1,", 30_000) + "] }", "30000 mistakes, the first 50 are shown",
		},
		"broken lines":    {again("a = \n", 12_000), "12000 mistakes, the first 50 are shown"},
		"long names":      {again("a", 60_000) + " = 1", "unknown key"},
		"long config key": {`plugin "a" { config = { ` + again("k", 30_000) + " = [" + again("0,", 15_000) + "] } }", ""},
		"control sequence": {
			"plugin \"a\" { # \x1b]0;title\x07\u202e\n} x", "a new line is missing",
		},
		"control sequence in a hint": {"plugin_dirs = [\"~/\x1b[0m\"]", "which only shells know"},
		"many locals":                {"locals {\n" + lines(7_000, "a%d=1") + "}", ""},
		"unknown locals": {"locals {\n" + lines(1_800, "a%04d=1") + "}\nlocals {\n" +
			lines(1_800, "b%04d=local.c%04[1]d") + "}", "1800 mistakes"},
		"long label": {`plugin "` + again("a", 30_000) + "\" {\n" + lines(4_000, "x%d=1") + "}",
			"4001 mistakes"},
		"long label of tools": {
			`plugin "` + again("a", 30_000) + "\" {\n" + lines(2_000, `tool "t%d" {}`) + "}", "a plugin cannot be called",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := soon(t, c.src)
			if (c.want == "") != (text == "") || !strings.Contains(text, c.want) {
				t.Errorf("error %.2000s\nwants %q", text, c.want)
			}
			if strings.ContainsAny(text, "\x1b\x07\u202e") {
				t.Error("the report has control characters")
			}
		})
	}
}

// soon is the text of the error for src, "" for none, and fails the test when that takes long.
func soon(t *testing.T, src string) (text string) {
	t.Helper()
	if len(src) > maxSize {
		t.Fatalf("the case has %d bytes, and would be refused for that", len(src))
	}
	took := testutil.CPUTime(t, func() {
		if _, err := Parse("config.hcl", []byte(src)); err != nil {
			text = err.Error()
		}
	})
	if took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	return text
}

// chain makes locals v0 to vN, each defined by the next through the format, and the last as given.
func chain(n int, format, last string) string {
	var b strings.Builder
	b.WriteString("locals {\n")
	for i := range n {
		fmt.Fprintf(&b, " v%d = "+format+"\n", i, fmt.Sprintf("local.v%d", i+1))
	}
	fmt.Fprintf(&b, " v%d = %s\n}\n", n, last)
	return b.String()
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

// Policies made to exhaust the stack, the memory or the time of a reader are rejected soon.
func TestHostilePolicies(t *testing.T) {
	testutil.Long(t)
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
		"large template":  {list + "locals {\n b = join\n}\n", "unknown name"},
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

// FuzzCondition checks for any condition and any arguments that there is no panic, an answer in time, and the same
// one twice.
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
		if took := testutil.CPUTime(t, func() { tryCondition(t, when, arguments) }); took > 10*time.Second {
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

// tryRule evaluates a rule twice for a call.
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
