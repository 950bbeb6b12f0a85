package host_test

import (
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
)

func TestReadOnlyLayer(t *testing.T) {
	p, err := policy.New(host.ReadOnlyLayer("plan"))
	if err != nil {
		t.Fatal(err)
	}
	yes, no := new(true), new(false)
	for name, x := range map[string]struct {
		readOnly            *bool
		category, arguments string
		want                policy.Effect
	}{
		"a reader":               {yes, "", `{}`, policy.Allow},
		"a writer":               {no, "", `{}`, policy.Deny},
		"nothing told":           {nil, "", `{}`, policy.Deny},
		"reading command":        {no, "shell", `{"command":"ls"}`, policy.Allow},
		"other command":          {no, "shell", `{"command":"rm x"}`, policy.Deny},
		"both":                   {no, "shell", `{"command":"ls && rm x"}`, policy.Deny},
		"shell without command":  {no, "shell", `{"script":"ls"}`, policy.Deny},
		"command in another":     {no, "", `{"command":"ls"}`, policy.Deny},
		"command is not a text":  {no, "shell", `{"command":{"a":"ls"}}`, policy.Deny},
		"environment is a list":  {no, "shell", `{"command":"ls","env":["A=b"]}`, policy.Deny},
		"null stands for absent": {no, "shell", `{"command":"ls","env":null,"workdir":null,"stdin":null}`, policy.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			q := &policy.Query{Tool: "p__t", Plugin: "p", Category: x.category, Hints: policy.Hints{ReadOnly: x.readOnly},
				Arguments: []byte(x.arguments), Workdir: "/project"}
			if d := p.Decide(q); d.Effect != x.want || d.Layer != "plan" {
				t.Errorf("%s by %s/%s: %s", d.Effect, d.Layer, d.Rule, d.Reason)
			}
		})
	}
}
