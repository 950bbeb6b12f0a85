package config

import "testing"

func TestLocate(t *testing.T) {
	c, err := Parse("config.hcl", []byte(`
plugin "block" {
  config {
    shell = "bash"
    server {
      port = 1
    }
    rule { path = "/a" }
    rule {
      path = "/b"
    }
    nested = {
      "a/b" = 1
      list = [
        10,
        { deep = true },
      ]
    }
  }
}

plugin "attribute" {
  eager = true
  config = {
    shell = "bash"
  }
}

plugin "bare" {
}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ plugin, path, want string }{
		{"block", "", "config.hcl:3"},
		{"block", "shell", "config.hcl:4"},
		{"block", "/shell", "config.hcl:4"},
		{"block", "server", "config.hcl:5"},
		{"block", "server.port", "config.hcl:6"},
		{"block", "/server/port", "config.hcl:6"},
		{"block", "server.host", "config.hcl:5"},
		{"block", "rule[0].path", "config.hcl:8"},
		{"block", "/rule/1", "config.hcl:9"},
		{"block", "rule.1.path", "config.hcl:10"},
		{"block", "/nested/a~1b", "config.hcl:13"},
		{"block", "nested.list.0", "config.hcl:15"},
		{"block", "/nested/list/1/deep", "config.hcl:16"},
		{"block", "/nested/list/1/deep/er", "config.hcl:16"},
		{"block", "missing", "config.hcl:3"},
		{"attribute", "shell", "config.hcl:25"},
		{"attribute", "missing", "config.hcl:24"},
		{"bare", "shell", "config.hcl:29"},
		{"nobody", "shell", "config.hcl"},
	} {
		if got := c.Locate(x.plugin, x.path); got != x.want {
			t.Errorf("Locate(%q, %q) = %s, want %s", x.plugin, x.path, got, x.want)
		}
	}
}
