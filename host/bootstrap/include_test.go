package bootstrap

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/sdk"
)

// What several profiles include is complained of once, for the profile that says it.
func TestIncludedOnce(t *testing.T) {
	c, err := config.Parse("config.hcl", []byte(`
profile "a" {
  include = ["b"]
  tools   = ["edit__red"]
}
profile "b" {
  tools   = ["edit__wirte"]
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
	var told strings.Builder
	for _, w := range append(unmatched(c, []*host.Tool{{Tool: sdk.Tool{Name: "edit__write"}, Plugin: "edit"}}), rulesForNobody(c, []string{"edit"})...) {
		told.WriteString(w.Error() + "\n")
	}
	for _, want := range []string{
		`config.hcl:2: profile "a" is about "edit__red"`, `config.hcl:6: profile "b" is about "edit__wirte"`,
		`config.hcl:6: profile "b" is about "edit__rm"`, `config.hcl:9: rule "r" is about "gone__*"`,
	} {
		if strings.Count(told.String(), want) != 1 {
			t.Errorf("%q is not told once", want)
		}
	}
	if n := strings.Count(told.String(), "\n"); n != 4 {
		t.Errorf("%d warnings, not 4:\n%s", n, told.String())
	}
}
