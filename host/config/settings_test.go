package config

import (
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
