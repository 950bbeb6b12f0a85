package workspace

import (
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

func TestAllowedSecrets(t *testing.T) {
	allowed := AllowedSecrets{".env", "tls/**/*.{key,crt}", "link.pem"}
	for _, c := range []struct{ given, resolved, want string }{
		{"plain", "plain", ""},
		{".env", ".env", ""},
		{"a/.env", "a/.env", "a/.env"},
		{"tls/a/b.key", "tls/a/b.key", ""},
		{"notes", "tls/b.key", ""},
		{"notes", "b.key", "b.key"},
		{"my.pem", "plain", "my.pem"},
		{"my.pem", ".env", ""},
		{"link.pem", "plain", ""},
		{"link.pem", "other.pem", "other.pem"},
	} {
		if got := allowed.Against(c.given, c.resolved); got != c.want {
			t.Errorf("Against(%q, %q) is %q, want %q", c.given, c.resolved, got, c.want)
		}
	}
}

func TestAllowedSecretsAreChecked(t *testing.T) {
	if err := (AllowedSecrets{"a.pem", "**/*.key", "{a,b}/[cd]*"}).Check(); err != nil {
		t.Error(err)
	}
	for _, pattern := range []string{"", "/a.pem", "config/[", "{a,b"} {
		if e, ok := (AllowedSecrets{"a.pem", pattern}).Check().(*sdk.Error); !ok || e.Name != "InvalidConfig" {
			t.Errorf("%q is taken", pattern)
		}
	}
}
