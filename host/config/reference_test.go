package config

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/lockfile"
)

func TestReferences(t *testing.T) {
	t.Setenv("TOOLHOST_TEST_KEY", "sk-0123456789")
	c, err := Parse("config.hcl", []byte(`
locals {
  token = "token-0123456789"
  both  = { a = env.TOOLHOST_TEST_KEY, b = 1 }
  flag  = "-v"
}
plugin "p" {
  command = ["/bin/p", local.flag, "--key=${env.TOOLHOST_TEST_KEY}", "plain"]
  config {
    plain = "x"
    key   = env.TOOLHOST_TEST_KEY
    text  = "Bearer ${env.TOOLHOST_TEST_KEY}!"
    list  = ["a", local.token, env("TOOLHOST_TEST_NONE", "default")]
    both  = local.both
    deep  = { in = { key = (local.both.a), n = 1 } }
    server {
      token = local.token
    }
  }
}
`))
	if err != nil {
		t.Fatal(err)
	}
	spec := c.Plugins[0]
	var written any
	if err := json.Unmarshal(spec.Config, &written); err != nil {
		t.Fatal(err)
	}
	want := `{"both":local.both,"deep":{"in":{"key":local.both.a,"n":1}},"key":env.TOOLHOST_TEST_KEY,` +
		`"list":["a",local.token,env("TOOLHOST_TEST_NONE", ` +
		`"default")],"plain":"x","server":{"token":local.token},"text":"Bearer ${env.TOOLHOST_TEST_KEY}!"}`
	if got := spec.ShownConfig(); got != want {
		t.Errorf("shown is\n%s, want\n%s", got, want)
	}
	if diff := cmp.Diff([]string{"/bin/p", "local.flag", "--key=${env.TOOLHOST_TEST_KEY}", "plain"},
		spec.ShownCommand()); diff != "" {
		t.Error(diff)
	}
	// A lock notices that a local holds something else, and not that a token of the environment was renewed.
	locked := lockfile.New(spec, c.Dir).Args
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("-v")))[:12]
	if diff := cmp.Diff([]string{"local.flag sha256:" + sum, "--key=${env.TOOLHOST_TEST_KEY}", "plain"},
		locked); diff != "" {
		t.Error(diff)
	}
	if spec.Command[2] != "--key=sk-0123456789" {
		t.Errorf("the plugin gets %q", spec.Command)
	}
}
