package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/testutil"
)

// ruleWith makes a rule with a condition, as a file would.
func ruleWith(t testing.TB, when string) policy.Rule {
	t.Helper()
	c, err := Parse("config.hcl",
		[]byte("policy \"user\" {\n  rule \"r\" {\n    effect = \"deny\"\n    when = "+when+"\n  }\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return c.Policies[0].Rules[0]
}

func callWith(arguments string) *policy.Query {
	return &policy.Query{
		Tool: "shell__exec", Plugin: "shell", Caller: "agent/1", Workdir: "/project",
		Arguments: json.RawMessage(arguments),
	}
}

func TestCondition(t *testing.T) {
	const yes, no, unsure = policy.Yes, policy.No, policy.Unsure
	cases := []struct {
		when, arguments string
		want            policy.Truth
	}{
		{`args.a == "x"`, `{"a":"x"}`, yes},
		{`contains(paths(), "db/1.sql")`, `{"path":"db/1.sql"}`, yes},
		{`contains(paths(), "db/1.sql")`, `{"path":"/project/x/../db/./1.sql"}`, yes},
		{`contains(paths(), "db/1.sql")`, `{"paths":["a","db//1.sql"]}`, yes},
		{`contains(paths(), "db/1.sql")`, `{"path":"a","edits":[{"path":"b"},{},{"path":"db/1.sql","old_string":"x"}]}`, yes},
		{`contains(paths(), "db/1.sql")`, `{"path":"../project2/db/1.sql","command":"db/1.sql"}`, no},
		{`paths() == ["/etc/passwd"]`, `{"path":"../etc/passwd"}`, yes},
		{`length(paths()) == 0`, `{"path":null,"paths":[],"edits":[]}`, yes},
		{`anytrue([for p in paths() : startswith(p, "db/")])`, `{"edits":[{"path":"./db/2.sql"}]}`, yes},
		{`args.a == "x"`, `{"a":"y"}`, no},
		{`args.a == "x"`, `{}`, no},
		{`args.a == null`, `{}`, yes},
		{`args.a == null`, `{"a":null}`, yes},
		{`args.a != null && args.b == 1`, `{"a":false,"b":1}`, yes},
		{`args["odd name"] == 1`, `{"odd name":1}`, yes},
		{`tool == "shell__exec" && caller == "agent/1" && workdir == "/project"`, `{}`, yes},
		{`args.n == 0.1 && args.m == 12345678901234567890123456789`, `{"n":0.1,"m":12345678901234567890123456789}`, yes},
		{`args.n == 12345678901234567890`, `{"n":12345678901234567891}`, no},
		{`"5" == args.n`, `{"n":5}`, no},
		{`args.n > 4`, `{"n":"5"}`, yes},
		{`args.l == ["a", "b"]`, `{"l":["a","b"]}`, yes},
		{`args.o.p[1].q`, `{"o":{"p":[0,{"q":true}]}}`, yes},
		{`args.a == null ? false : length(args.a) > 2`, `{}`, no},
		{`args.a == null ? false : length(args.a) > 2`, `{"a":[1,2,3]}`, yes},

		{`matches("^rm\\b", args.a)`, `{"a":"rm -rf"}`, yes},
		{`matches("^rm\\b", args.a)`, `{"a":"rmdir"}`, no},
		{`matches("", args.a)`, `{}`, no},
		{`anytrue([for k, v in args.o : matches("^LD_", k)])`, `{"o":{"LD_PRELOAD":"x"}}`, yes},
		{`alltrue([for x in args.l : x > 1])`, `{"l":[2,3]}`, yes},
		{`alltrue([for x in args.l : x > 1])`, `{"l":[2,1]}`, no},
		{`alltrue([])`, `{}`, yes},
		{`anytrue([])`, `{}`, no},
		{`contains(args.l, "b")`, `{"l":["a","b"]}`, yes},
		{`contains(args.l, 1)`, `{"l":["1"]}`, no},
		{`length(args.a) == 2 && length(args.l) == 1 && length(args.o) == 0`, `{"a":"äö","l":[1],"o":{}}`, yes},
		{`lower(args.a) == "ab" && upper(args.a) == "AB" && trimspace(args.b) == "c"`, `{"a":"aB","b":" c\n"}`, yes},
		{`startswith(args.a, "ab") && endswith(args.a, "cd") && strcontains(args.a, "bc")`, `{"a":"abcd"}`, yes},
		{`join("-", split(",", args.a)) == "a-b"`, `{"a":"a,b"}`, yes},
		{`contains(keys(args.o), "k") && contains(values(args.o), 1)`, `{"o":{"k":1}}`, yes},
		{`lookup(args.o, "k", 2) == 1 && lookup(args.o, "z", 2) == 2`, `{"o":{"k":1}}`, yes},
		{`coalesce(args.a, "d") == "d"`, `{}`, yes},
		{`concat(args.l, ["x"]) == ["a", "x"] && flatten([args.l, ["y"]]) == ["a", "y"]`, `{"l":["a"]}`, yes},
		{`length(distinct(args.l)) == 2`, `{"l":["a","b","a"]}`, yes},
		{`abs(args.n) == 3 && min(args.n, 1) == -3 && max(1, 2) == 2`, `{"n":-3}`, yes},
		{`basename(args.a) == "c" && dirname(args.a) == "a/b"`, `{"a":"a/b/c"}`, yes},

		{`inside(args.a, ".")`, `{"a":"b/../c"}`, yes},
		{`inside(args.a, ".")`, `{"a":"/project"}`, yes},
		{`inside(args.a, ".")`, `{"a":"/projects"}`, no},
		{`inside(args.a, ".")`, `{"a":"../project/x"}`, yes},
		{`inside(args.a, ".")`, `{"a":"b/../../c"}`, no},
		{`inside(args.a, "src")`, `{"a":"src/x"}`, yes},
		{`inside(args.a, "/etc")`, `{"a":"/etc/passwd"}`, yes},
		{`inside(args.a, ".")`, `{"a":"..x"}`, yes},
		{`inside(args.a, ".")`, `{}`, no},

		{`anytrue([for c in commands(args.command) : c.name == "git"])`, `{"command":"ls && git push"}`, yes},
		{`anytrue([for c in commands(args.command) : c.name == "git"])`, `{"command":"ls"}`, no},
		{`anytrue([for c in commands(args.command) : c.name == "git"])`, `{}`, no},
		{`anytrue([for c in commands(args.command) : c.name == "git"])`, `{"command":"$x push"}`, unsure},
		{`anytrue([for c in commands(args.command) : c.name == "git"])`, `{"command":"$x push && git status"}`, yes},
		{`alltrue([for c in commands(args.command) : c.name == "ls"])`, `{"command":"ls && $x"}`, unsure},
		{`anytrue([for c in commands(args.command) : contains(c.args, "--force")])`, `{"command":"git push $x"}`, unsure},
		{`anytrue([for c in commands(args.command) : contains(c.args, "--force")])`, `{"command":"git push $x --force"}`,
			yes},
		{`runs(args.command, ["git push --force"])`, `{"command":"cd a && git -C b push origin +main"}`, yes},
		{`runs(args.command, ["rm", "git push --force"])`, `{"command":"git push -uf"}`, yes},
		{`runs(args.command, ["git push --force"])`, `{"command":"git push origin main"}`, no},
		{`runs(args.command, ["git push --force"])`, `{"command":"git push $x"}`, unsure},
		{`runs(args.command, ["git push --force"])`, `{"command":"$x"}`, unsure},
		{`runs(args.command, ["git push --force"])`, `{}`, no},
		{`anytrue([for c in commands(args.command) : length(c.args) > 1])`, `{"command":"ls $x"}`, unsure},
		{`anytrue([for c in commands(args.command) : c.dynamic])`, `{"command":"ls $x"}`, yes},
		{`anytrue([for c in commands(args.command) : c.path == "/bin/ls" && c.name == "ls"])`, `{"command":"/bin/ls"}`, yes},
		{`anytrue([for c in commands(args.command) : anytrue([for r in c.redirects : r.writes])])`, `{"command":"ls > x"}`,
			yes},
		{`!anytrue([for c in commands(args.command) : c.name == "git"])`, `{"command":"$x"}`, unsure},
		{`anytrue([for c in commands(args.command) : true if c.name == "git"])`, `{"command":"$x"}`, unsure},
		{`args.a == "x" && anytrue([for c in commands(args.command) : c.name == "git"])`, `{"a":"y","command":"$x"}`, no},
		{`anytrue([for c in commands(args.command) : matches("^g", c.name)])`, `{"command":"$x"}`, unsure},
		{`join(",", [for c in commands(args.command) : c.name]) == "ls"`, `{"command":"$x"}`, unsure},
		{`contains(distinct([for c in commands(args.command) : c.name]), "ls")`, `{"command":"ls && $x"}`, unsure},
		{`join("-", args.l) == "1-a-true"`, `{"l":[1,"a",true]}`, yes},
		{`length(commands(args.command)) == 2`, `{"command":"a && b"}`, yes},
	}
	for _, c := range cases {
		t.Run(c.when+" of "+c.arguments, func(t *testing.T) {
			got, err := ruleWith(t, c.when).When(callWith(c.arguments))
			if err != nil || got != c.want {
				t.Errorf("gives %v and the error %v, want %v", got, err, c.want)
			}
		})
	}
}

// A condition that cannot be evaluated is an error, which counts against the call.
func TestConditionFails(t *testing.T) {
	cases := []struct{ when, arguments, want string }{
		{`args.a > 3`, `{}`, "argument must not be null (config.hcl:4,12)"},
		{`args.a > 3`, `{"a":"x"}`, "a number is required"},
		{`length(paths()) > 0`, `{"path":5}`, "args.path names no paths"},
		{`length(paths()) > 0`, `{"edits":["a"]}`, "args.edits names no paths"},
		{`length(paths()) > 0`, `{"paths":["e\u0301"]}`, "a path cannot be evaluated"},
		{`length(paths()) > 0`, `{"path":"a\u0000b"}`, "NUL"},
		{`args.a`, `{"a":"true"}`, "it gives a string, not true or false"},
		{`args.a`, `{}`, "it gives null, not true or false"},
		{`args.a && true`, `{}`, "this is null, and neither true nor false"},
		{`args.a.b == 1`, `{}`, "this value is null, so it does not have any attributes"},
		{`args.a.b == 1`, `{"a":{}}`, "this object does not have an attribute named \"b\""},
		{`args.a[3] == 1`, `{"a":[1]}`, "the given key does not identify an element"},
		{`anytrue([for x in args.a : x])`, `{}`, "a null value cannot be used as the collection"},
		{`anytrue(args.a)`, `{"a":[true, 1]}`, ""},
		{`anytrue(args.a)`, `{"a":[1, true]}`, "item 1 is a number, not true or false"},
		{`anytrue(args.a)`, `{"a":"x"}`, "it must be a list"},
		{`contains(args.a, 1)`, `{}`, "argument must not be null"},
		{`length(args.a) > 1`, `{"a":true}`, "it must be a list, an object or a string, not a bool"},
		{`startswith(args.a, "x")`, `{}`, "argument must not be null"},
		{`join(",", args.a) == ""`, `{"a":["x",null]}`, "item 2: it is null"},
		{`join(",", args.a) == ""`, `{"a":[["x"]]}`, "item 1: "},
		{`join(",", args.a) == ""`, `{"a":"x"}`, "it must be a list"},
		{`contains([1], args.a ? 1 : 2)`, `{}`, "null"},
		{`coalesce(args.a, args.b) == 1`, `{}`, "all of them are null"},
		{`inside(args.a, ".")`, `{"a":""}`, "it is empty"},
		{`inside(args.a, ".")`, `{"a":"x\u0000"}`, "it has a NUL character"},
		{`anytrue([for c in commands(args.a) : c.name == "ls"])`, `{"a":"ls 'x"}`, "(config.hcl:4,30)"},
		{`args.a == "é"`, `{"a":"e\u0301"}`,
			"args.a cannot be evaluated: it holds letters that are written as a base letter and an accent"},
		{`args.a == "é"`, `{"a":{"e\u0301":1}}`, "args.a cannot be evaluated"},
		{`args.a == 1`, `{"a":1e999999999}`, "a number that is too long or too large"},
		{`args.a == 1`, `{"a":1e2000}`, "a number that is too long or too large"},
		{`args.a == 1`, `{"a":` + strings.Repeat("1", 200) + `}`, "a number that is too long or too large"},
		{`args.a == 1`, `{"a":{"b":1,"b":2}}`, "two members named \"b\""},
		{`args.a == 1`, `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
			"more than 100 lists or objects"},
		{`args.a == "x"`, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, "the limit for rules is 1048576"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s of %.40s", c.when, c.arguments), func(t *testing.T) {
			_, err := ruleWith(t, c.when).When(callWith(c.arguments))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "cty") || strings.Contains(err.Error(), "\n")) {
				t.Errorf("the error is no plain words: %v", err)
			}
		})
	}
}

// Many calls may be decided concurrently.
func TestConditionIsSafeForConcurrentUse(t *testing.T) {
	r := ruleWith(t, `anytrue([for c in commands(args.command) : c.name == "git" && matches("^p", c.args[0])]) && `+
		`inside(args.path, ".")`)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				command, want := fmt.Sprintf("git push %d", i*j), policy.Yes
				if j%2 == 0 {
					command, want = fmt.Sprintf("git log %d", i*j), policy.No
				}
				got, err := r.When(callWith(`{"path":"a","command":"` + command + `"}`))
				if got != want || err != nil {
					t.Errorf("%s gives %v and the error %v", command, got, err)
				}
			}
		})
	}
	all.Wait()
}

// Arguments that a condition does not name do not affect it.
func TestConditionIgnoresOtherArguments(t *testing.T) {
	q := callWith(`{"a":"x","b":"e\u0301","c":1e999999999}`)
	q.Caller = "e\u0301"
	got, err := ruleWith(t, `args.a == "x"`).When(q)
	if got != policy.Yes || err != nil {
		t.Errorf("gives %v and the error %v", got, err)
	}
	for _, when := range []string{`caller == "x"`, `inside(args.a, ".")`} {
		q.Workdir = "/e\u0301"
		if _, err := ruleWith(t, when).When(q); err == nil || !strings.Contains(err.Error(), "base letter") {
			t.Errorf("%s: the error is %v", when, err)
		}
	}
}

// A condition over large arguments stops soon, and with an error.
func TestConditionStops(t *testing.T) {
	testutil.Long(t)
	numbers := strings.TrimSuffix(strings.Repeat("1,", 20_000), ",")
	var members strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&members, `"k%d":%d,`, i, i)
	}
	list := `{"l":[` + numbers + `],"m":["a",` + numbers + `],"t":"` + numbers + `","s":"` + strings.Repeat("a", 500_000) +
		`",` +
		`"o":{` + members.String() + `"z":1},"p":{` + members.String() + `"y":"a"}}`
	for when, wanted := range map[string]string{
		`(length(args.l) > 1 ? args.t : "x") == ""`:                                                      "",
		`length(args.l) > 1 ? contains(args.l, 2) : false`:                                               "",
		`(length(args.l) > 1 ? args.l : args.m) == 1`:                                                    "too much work",
		`(length(args.l) > 1 ? args.l : args.o) == 1`:                                                    "too much work",
		`(length(args.l) > 1 ? args.p : args.o) == 1`:                                                    "too much work",
		`(length(args.l) > 1 ? args.l : split(",", args.t)) == 1`:                                        "too much work",
		`concat(args.l, args.m) == null`:                                                                 "",
		`concat(args.l, split(",", args.t)) == null`:                                                     "",
		`length(flatten([args.l, args.m, args.o])) == 1`:                                                 "",
		`length(values(args.o)) == length(keys(args.p))`:                                                 "",
		`lookup(args.o, "k1", 1) == 1`:                                                                   "",
		`min(args.l...) == max(args.l...)`:                                                               "",
		`coalesce(args.l...) == 1`:                                                                       "",
		`args.l == args.m`:                                                                               "",
		`args.o != args.p`:                                                                               "",
		`length({ for k, v in args.o : v => k... }) == 1`:                                                "",
		`anytrue([for x in args.l : x == 2])`:                                                            "",
		`matches("^a*$", args.s)`:                                                                        "",
		`anytrue([for x in args.l : anytrue([for y in args.l : x == y + 1])])`:                           "too much work",
		`anytrue([for x in args.l : contains(args.l, 2)])`:                                               "too much work",
		`anytrue([for x in args.l : args.l == args.s])`:                                                  "too much work",
		`length(flatten([for x in args.l : args.l])) == 1`:                                               "too much work",
		`length([for x in args.l : "${args.s}${args.s}"]) == 1`:                                          "too much work",
		`anytrue([for x in args.l : matches("a+b", args.s)])`:                                            "too much work",
		`matches("(a|b|c|d|e|f)(a|b|c|d|e|f)(a|b|c|d|e|f)(a|b|c|d|e|f)(a|b|c|d|e|f){20}[0-9]$", args.s)`: "too much work",

		`join(args.s, args.l) == ""`: "more than 1024 KiB",

		`length(distinct(args.l)) == 1`:                          "at most 1000",
		`false && anytrue([for x in args.l : args.l == args.s])`: "too much work",
	} {
		t.Run(when, func(t *testing.T) {
			_, err := ruleWith(t, when).When(callWith(list))
			if (err == nil) != (wanted == "") || err != nil && !strings.Contains(err.Error(), wanted) {
				t.Errorf("the error is %v, want %q", err, wanted)
			}
		})
	}
}

// An argument with more values than the limit is an error before it is evaluated.
func TestArgumentOfManyValues(t *testing.T) {
	r := ruleWith(t, `anytrue([for x in args.xs : anytrue([for y in args.xs : x == y && x != y])])`)
	for item, n := range map[string]int{`"a"`: 1 << 15, `1`: 1 << 15, `[]`: 1 << 15, `{"a":1}`: 1 << 15 / 2,
		`[1,[2]]`: 1 << 15 / 4} {
		_, err := r.When(callWith(`{"xs":[` + strings.Repeat(item+",", n) + `null]}`))
		if err == nil || !strings.Contains(err.Error(), "args.xs cannot be evaluated: it has more than 32768 values") {
			t.Errorf("%d of %s: %v", n, item, err)
		}
	}
	if got, err := r.When(callWith(`{"xs":["a","b"]}`)); err != nil || got != policy.No {
		t.Errorf("two: %v, %v", got, err)
	}
}

// For the content of a folder a rule knows only the beginning of the path: that settles startswith and inside, and
// leaves other operators unsure.
func TestConditionsOnFolderContent(t *testing.T) {
	t.Parallel()
	const starts, in, ends, own, all = `anytrue([for p in paths() : startswith(p, "private/")])`,
		`anytrue([for p in paths() : inside(p, "private")])`,
		`anytrue([for p in paths() : endswith(p, ".key")])`, `startswith(args.path, "private/")`,
		`alltrue([for p in paths() : inside(p, ".")])`
	for _, c := range []struct {
		when   string
		path   policy.Path
		want   policy.Effect
		unsure bool
	}{
		{starts, policy.Path{Name: ".", Below: true}, "", true},
		{starts, policy.Path{Name: "src", Below: true}, policy.Allow, false},
		{starts, policy.Path{Name: "private", Below: true}, policy.Deny, false},
		{starts, policy.Path{Name: "private/deep", Below: true}, policy.Deny, false},
		{starts, policy.Path{Name: "privat", Below: true}, policy.Allow, false},
		{starts, policy.Path{Name: "private"}, policy.Allow, false},
		{starts, policy.Path{Name: "private/x"}, policy.Deny, false},
		{in, policy.Path{Name: ".", Below: true}, "", true}, {in, policy.Path{Name: "src", Below: true}, policy.Allow, false},
		{in, policy.Path{Name: "private/a", Below: true}, policy.Deny, false},
		{in, policy.Path{Name: "/etc", Below: true}, policy.Allow, false},
		{in, policy.Path{Name: "/", Below: true}, "", true},
		{ends, policy.Path{Name: "src", Below: true}, "", true}, {ends, policy.Path{Name: "src/a.key"}, policy.Deny, false},
		{ends, policy.Path{Name: "src/a.go"}, policy.Allow, false},
		{own, policy.Path{Name: "src", Below: true}, policy.Allow, false},
		{own, policy.Path{Name: "private", Below: true}, policy.Deny, false},
		{all, policy.Path{Name: "src", Below: true}, policy.Deny, false},
		{all, policy.Path{Name: "/etc", Below: true}, policy.Allow, false},
	} {
		conf, err := Parse("config.hcl",
			[]byte("policy \"user\" {\n  rule \"r\" {\n    when   = "+c.when+
				"\n    effect = \"deny\"\n  }\n  rule \"else\" {\n    effect = \"allow\"\n  }\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.New(conf.Policies...)
		if err != nil {
			t.Fatal(err)
		}
		q := &policy.Query{Tool: "readfile__grep", Plugin: "readfile",
			Arguments: []byte(`{"path":"somewhere/else","pattern":"x"}`), Workdir: "/workspace"}
		if !p.LooksAtPaths(q) {
			t.Fatalf("%s does not report that it looks at paths", c.when)
		}
		about := q.About(c.path)
		d := p.Decide(about)
		if about.Unsure() != c.unsure || !c.unsure && d.Effect != c.want {
			t.Errorf("%s, %+v: %s, unsure %t", c.when, c.path, d.Effect, about.Unsure())
		}
	}
}

// A script for a shell is a command; the commands of other scripts are not known.
func TestConditionsAboutScripts(t *testing.T) {
	pushes := ruleWith(t, `anytrue([for c in commands(args.command) : c.name == "git" && contains(c.args, "push")])`)
	mentions := ruleWith(t, `matches("secret", args.command)`)
	for _, test := range []struct {
		rule     policy.Rule
		category string
		args     map[string]string
		want     policy.Truth
	}{
		{pushes, "shell", map[string]string{"command": "ls\ngit push\n", "interpreter": "bash"}, policy.Yes},
		{pushes, "shell", map[string]string{"command": "ls\ngit log\n"}, policy.No},
		{pushes, "shell", map[string]string{"command": "print('(')", "interpreter": "python3"}, policy.Unsure},
		{pushes, "shell", map[string]string{"command": "ls", "interpreter": "python3"}, policy.Unsure},
		{pushes, "other", map[string]string{"command": "ls", "interpreter": "python3"}, policy.No},
		{mentions, "shell", map[string]string{"command": "print(secret)", "interpreter": "python3"}, policy.Yes},
		{mentions, "shell", map[string]string{"command": "print(1)", "interpreter": "python3"}, policy.No},
	} {
		arguments, err := json.Marshal(test.args)
		if err != nil {
			t.Fatal(err)
		}
		got, err := test.rule.When(&policy.Query{Tool: "shell__script", Plugin: "shell", Category: test.category,
			Workdir: "/project", Arguments: arguments})
		if err != nil || got != test.want {
			t.Errorf("%s in category %s: %v, %v; want %v", arguments, test.category, got, err, test.want)
		}
	}
}
