package config

import (
	"testing"

	"github.com/toolhost/toolhost/host/policy"
)

// Of what is in a folder a rule knows the beginning of the path: that settles startswith and inside, and leaves others
// unsure.
func TestConditionsOnWhatIsInAFolder(t *testing.T) {
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
			t.Fatalf("%s is not known to look at paths", c.when)
		}
		about := q.About(c.path)
		d := p.Decide(about)
		if about.Unsure() != c.unsure || !c.unsure && d.Effect != c.want {
			t.Errorf("%s, %+v: %s, unsure %t", c.when, c.path, d.Effect, about.Unsure())
		}
	}
}
