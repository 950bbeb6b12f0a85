package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

func TestSecretFiles(t *testing.T) {
	f := start(t, ".env", "TOKEN=1", ".env.example", "TOKEN=", "tls/server.key", "key", "plain", "text", ".ssh/config", "host")
	for link, target := range map[string]string{"notes.txt": ".env", "folder": ".ssh", "my.pem": "plain", "chain": "notes.txt", "other.pem": ".env"} {
		check(t, os.Symlink(target, filepath.Join(f.dir, link)))
	}
	tests := []struct{ path, none, some string }{ // errors without configuration, and with some files allowed
		{".env", "SecretFile", ""},
		{"./tls/../.env", "SecretFile", ""},
		{"notes.txt", "SecretFile", ""},
		{"chain", "SecretFile", ""},
		{"tls/server.key", "SecretFile", ""},
		{"folder/config", "SecretFile", "SecretFile"},
		{".ssh/config", "SecretFile", "SecretFile"},
		{"my.pem", "SecretFile", "SecretFile"},
		{"other.pem", "SecretFile", ""},
		{".env.example", "", ""},
		{"plain", "", ""},
		{"tls/none.pem", "FileNotFound", "FileNotFound"},
	}
	for _, allow := range []bool{false, true} {
		if allow {
			f.MustConfigure(t, `{"allow_secrets":[".env","tls/**/*.{key,crt}"]}`)
		}
		for _, test := range tests {
			want := test.none
			if allow {
				want = test.some
			}
			got := ""
			if e := f.RunIn(t, f.dir, "read", `{"path":"`+test.path+`"}`).Error; e != nil {
				got = e.Name
			}
			if got != want {
				t.Errorf("reading %s, allowed %v: the error is %q, want %q", test.path, allow, got, want)
			}
		}
	}
}

func TestSecretFileIsExplained(t *testing.T) {
	f := start(t, "a/.env", "TOKEN=1")
	check(t, os.Symlink("a/.env", filepath.Join(f.dir, "notes")))
	e := f.fails(t, "SecretFile", "read", `{"path":"a/.env"}`)
	contains(t, e.Message, `"a/.env" is not read: by its name it holds`)
	contains(t, e.Suggestion, `allow_secrets = ["a/.env"]`)
	e = f.fails(t, "SecretFile", "read", `{"path":"notes"}`)
	contains(t, e.Message, `"notes" is not read: it leads to "a/.env"`)
	contains(t, e.Suggestion, `allow_secrets = ["a/.env"]`)
	contains(t, string(e.Details), `{"path":"a/.env"}`)
}

func TestConfigMistakes(t *testing.T) {
	f := start(t)
	for _, pattern := range []string{"", "/etc/*.pem", "a[", "{a,b"} {
		err := f.Configure(t.Context(), sdk.Details(map[string][]string{"allow_secrets": {"ok.pem", pattern}}), f.dir)
		if err == nil {
			t.Errorf("the pattern %q was taken", pattern)
			continue
		}
		contains(t, err.Error(), "allow_secrets: ", "is no pattern of paths")
	}
	if err := f.Configure(t.Context(), json.RawMessage(`{"allow":[]}`), f.dir); err == nil {
		t.Error("an unknown key was taken")
	}
}
