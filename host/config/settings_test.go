package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestSettingsShowNoSecrets(t *testing.T) {
	c, err := Parse("config.hcl", []byte(`default_timeout = "3m"
plugin "web" {
  command = ["serve-it"]
  env = {
    API_KEY = "swordfish-1"
    "DB_PASSWORD" = "swordfish-2"
    MODE = "fast"
    TOKEN = env("NONE", "x")
  }
  config {
    client_secret = "swordfish-3"
    depth = 3
  }
}
`))
	if err != nil {
		t.Fatal(err)
	}
	all, text := c.Settings()
	shown := text
	for _, s := range all {
		shown += s.Value
	}
	if strings.Contains(shown, "swordfish") {
		t.Errorf("a secret is shown:\n%s", shown)
	}
	for _, want := range []string{`MODE = "fast"`, `depth = 3`, `API_KEY = "[redacted]"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %s:\n%s", want, text)
		}
	}
	first, last := all[0], all[len(all)-1]
	if first != (Setting{"", "default_timeout", `"3m"`, "config.hcl:1"}) ||
		last != (Setting{`plugin "web", config`, "depth", "3", "config.hcl:12"}) {
		t.Errorf("%+v", all)
	}
}

// Whatever expression a secret is written in, its text is not shown: references and names of variables are.
func TestSettingsHideSecretsInAllExpressions(t *testing.T) {
	expressions := map[string]string{ // and what is shown
		`"swordfish-1234567890"`:                            `"[redacted]"`,
		`env("NAME", "swordfish-1234567890")`:               `env("NAME", "[redacted]")`,
		`env("NAME", local.plain)`:                          `env("NAME", local.plain)`,
		`env("NAME", env("OTHER", "swordfish-1234567890"))`: `env("NAME", env("OTHER", "[redacted]"))`,
		`local.plain`:                `local.plain`,
		`local.chained`:              `local.chained`,
		`"swordfish-${local.plain}"`: `"[redacted]"`,
		`"${local.plain}-swordfish"`: `"[redacted]"`,
		`local.nested.inner`:         `local.nested.inner`,
	}
	places := []string{
		"serve {\n token \"op\" {\n role = \"viewer\"\n value = %s\n }\n}\n",
		"mcp {\n identity \"x\" {\n token = %s\n }\n}\n",
		"plugin \"web\" {\n command = [\"x\"]\n env = {\n MODE = \"fast\"\n API_KEY = %s\n }\n}\n",
		"plugin \"web\" {\n command = [\"x\"]\n config {\n password = %s\n }\n}\n",
		"plugin \"web\" {\n command = [\"x\"]\n config {\n headers = {\n X-Team = %s\n }\n }\n}\n",
		"plugin \"web\" {\n command = [\"x\"]\n config = { deep = [{ secret = %s\n }] }\n}\n",
		"telemetry {\n endpoint = \"https://x.example\"\n headers = {\n x-honeycomb-team = %s\n }\n}\n",
		"approval {\n notify \"chat\" {\n url = \"https://x.example\"\n secret = %s\n }\n}\n",
	}
	const locals = `locals {
  plain = "swordfish-0987654321"
  chained = local.plain
  nested = { inner = "swordfish-0123456789" }
}
`
	for _, place := range places {
		for expression, want := range expressions {
			source := locals + fmt.Sprintf(place, expression)
			c, err := Parse("config.hcl", []byte(source))
			if err != nil && strings.Contains(err.Error(), "is written out") {
				continue // such a file is never in use
			}
			if err != nil {
				t.Fatalf("%s\n%s", err, source)
			}
			all, text := c.Settings()
			for _, s := range all {
				text += fmt.Sprintln(s.Value)
			}
			if used := strings.Contains(expression, "local.nested"); strings.Contains(text, "swordfish-1") ||
				strings.Contains(expression, "local.plain") && strings.Contains(text, "swordfish-0987") ||
				strings.Contains(expression, "local.chained") && strings.Contains(text, "swordfish-0987") ||
				used && strings.Contains(text, "swordfish-0123") {
				t.Errorf("a secret is shown:\n%s", text)
			}
			if !strings.Contains(text, "= "+want) {
				t.Errorf("%s is not shown as %s:\n%s", expression, want, text)
			}
		}
	}
}
