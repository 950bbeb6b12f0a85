package bootstrap

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// Mistakes that a plugin has found in its configuration are told with their lines.
func TestLocated(t *testing.T) {
	c, err := config.Parse("config.hcl", []byte(`plugin "p" {
  command = ["./p"]
  config {
    shell = "fish"
    server {
      port = "x"
      prot = 1
    }
  }
}
`))
	if err != nil {
		t.Fatal(err)
	}
	unusable := func(words string) error {
		return &sdk.Error{Code: sdk.CodePluginUnavailable, Message: `plugin "p" cannot be used: ` + words}
	}
	const wrong = "its configuration is wrong: "
	for name, x := range map[string]struct {
		in   error
		want []string
	}{
		"one": {unusable(wrong + `shell: must be one of "sh"; got "fish"`),
			[]string{`config.hcl:4: plugin "p" cannot be used: its configuration is wrong: shell: must be one of "sh"; got "fish"`}},
		"several": {unusable(wrong + `shell: is bad; server.port: must be an integer; server: unknown property "prot"; allowed: port; and 2 more problems`),
			[]string{
				`config.hcl:4: plugin "p" cannot be used: its configuration is wrong: shell: is bad`,
				`config.hcl:6: plugin "p" cannot be used: its configuration is wrong: server.port: must be an integer`,
				`config.hcl:7: plugin "p" cannot be used: its configuration is wrong: server: unknown property "prot"; allowed: port; and 2 more problems`,
			}},
		"refused at a place": {unusable("it refused its configuration: server.port: is taken"),
			[]string{`config.hcl:6: plugin "p" cannot be used: it refused its configuration: server.port: is taken`}},
		"refused": {unusable("it refused its configuration: no such host"),
			[]string{`config.hcl:3: plugin "p" cannot be used: it refused its configuration: no such host`}},
		"another": {errors.New("plugin \"p\" could not be started"), []string{`plugin "p" could not be started`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range located(c, x.in) {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"read", "list"}
	for in, want := range map[string]string{"raed": "read", "lists": "list", "frobnicate": ""} {
		if want != "" {
			want = fmt.Sprintf("; did you mean %q?", want)
		}
		if got := textutil.DidYouMean(in, names); got != want {
			t.Errorf("textutil.DidYouMean(%q) gives %q, want %q", in, got, want)
		}
	}
	if got := textutil.DidYouMean("x", nil); got != "" {
		t.Errorf("of no names %q was meant", got)
	}
}
