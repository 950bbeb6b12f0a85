package bootstrap

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

// Mistakes that a plugin has found in its configuration are reported with their lines.
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
	const wrong = "its configuration is wrong: "
	unusable := func(more int, problems ...supervise.ConfigProblem) error {
		return &sdk.Error{Code: sdk.CodePluginUnavailable, Message: "words that nobody reads apart",
			Details: sdk.Details(map[string]any{"plugin": "p", "problems": problems, "more": more})}
	}
	for name, x := range map[string]struct {
		in   error
		want []string
	}{
		"one": {unusable(0, supervise.ConfigProblem{Path: "shell", Message: wrong + "shell: is bad"}),
			[]string{`config.hcl:4,13: plugin "p" cannot be used: its configuration is wrong: shell: is bad`, `shell = "fish"`}},
		"several": {unusable(2, supervise.ConfigProblem{Path: "server.port", Message: wrong +
			"server.port: must be an integer"},
			supervise.ConfigProblem{Path: "server.prot", Message: wrong + `server: unknown property "prot"; allowed: port`}),
			[]string{
				`config.hcl:6,14: plugin "p" cannot be used: its configuration is wrong: server.port: must be an integer`,
				`config.hcl:7,14: plugin "p" cannot be used: its configuration is wrong: ` +
					`server: unknown property "prot"; allowed: port; and 2 more problems`,
			}},
		"refused": {unusable(0, supervise.ConfigProblem{Message: "it refused its configuration: no such host"}),
			[]string{`config.hcl:3,3: plugin "p" cannot be used: it refused its configuration: no such host`}},
		"another": {errors.New("plugin \"p\" could not be started"), []string{`plugin "p" could not be started`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := located(c, x.in).Error()
			for _, want := range x.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in:\n%s", want, got)
				}
			}
		})
	}
}

// A mistake that several profiles include is reported once, for the profile that contains it.
func TestIncludedOnce(t *testing.T) {
	c, err := config.Parse("config.hcl", []byte(`
profile "a" {
  include = ["b"]
  tools   = ["edit__red"]
}
profile "b" {
  tools   = ["edit__wirte", "edti__*"]
  exclude = ["edit__rm"]
  rule "r" {
    tools  = ["gone__*"]
    effect = "ask"
  }
}
profile "c" {
  include = ["a", "b"]
}
`))
	if err != nil {
		t.Fatal(err)
	}
	var reported strings.Builder
	for _, w := range append(unmatched(c, []*host.Tool{{Tool: sdk.Tool{Name: "edit__write"}, Plugin: "edit"}}),
		patternsForUnknownPlugins(c, []string{"edit"})...) {
		reported.WriteString(w.Error() + "\n")
	}
	for _, want := range []string{
		`config.hcl:2: profile "a" is about "edit__red"`, `config.hcl:6: profile "b" is about "edit__wirte"`,
		`config.hcl:6: profile "b" is about "edit__rm"`,
		`config.hcl:6: profile "b" is about "edti__*", but there is no such plugin; did you mean "edit"?`,
		`config.hcl:9: rule "r" is about "gone__*"`,
	} {
		if strings.Count(reported.String(), want) != 1 {
			t.Errorf("%q is not reported once", want)
		}
	}
	if n := strings.Count(reported.String(), "\n"); n != 5 {
		t.Errorf("%d warnings, not 5:\n%s", n, reported.String())
	}
}

// Places that are used at the first call only are checked before it.
func TestCheckPlaces(t *testing.T) {
	dir := t.TempDir()
	c, err := config.Parse(filepath.Join(dir, "config.hcl"), []byte(`
audit {
  path = "."
}
root "docs" {
  path = "gone"
}
root "here" {
  path = "."
}
`))
	if err != nil {
		t.Fatal(err)
	}
	var out Check
	out.checkPlaces(&Configuration{Config: c})
	got := fmt.Sprint(out.Problems, out.Warnings)
	place := c.RootSources[filepath.Join(dir, "gone")] // relative where that is shorter
	want := fmt.Sprintf("[%s: path of the audit block: %s is not a regular file; name another place for the log "+
		"%s: path of a root block: %s is not a folder, so nothing can be read there] []", c.Audit.Where, dir,
		place, filepath.Join(dir, "gone"))
	if got != want || !strings.HasSuffix(place, filepath.Base(dir)+"/config.hcl:5") {
		t.Errorf("%s\nwant %s", got, want)
	}
}
