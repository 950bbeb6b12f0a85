//go:build unix

package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func TestHide(t *testing.T) {
	const key = `sk-"A<b>\x/y z` + "\t0123456789"
	r := References{}
	r.AddText(key, "env.KEY")
	r.AddText("short", "env.SHORT")
	r.AddText(t.TempDir(), "env.HOME")
	r.AddText("-----BEGIN KEY-----\nabcdefghijklmnop\nq\n-----END KEY-----", "env.PEM")
	quoted, _ := json.Marshal(key)
	for text, want := range map[string]string{
		"a " + key + " b":                "a env.KEY b",
		fmt.Sprintf("%q", key):           `"env.KEY"`,
		string(quoted):                   `"env.KEY"`,
		key[:8] + "… and more":           "env.KEY… and more",
		`got "` + key[:9] + `"...`:       `got "env.KEY"...`,
		key[:5] + "…":                    key[:5] + "…",
		"short":                          "short",
		"line abcdefghijklmnop of it":    "line env.PEM of it",
		strings.Repeat("nothing... ", 3): strings.Repeat("nothing... ", 3),
	} {
		if got := r.Hide(text); got != want {
			t.Errorf("Hide(%q) = %q, want %q", text, got, want)
		}
	}
	if len(r.Texts) != 3 { // the key, the PEM text, and its one long line
		t.Errorf("there are %v: a folder and a short word are no secrets", r.Texts)
	}
	err := r.hideError(fmt.Errorf("%s: %w", key, fs.ErrNotExist))
	if err.Error() != "env.KEY: file does not exist" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
}

func TestShownConfig(t *testing.T) {
	s := Spec{Config: json.RawMessage(`{"a":"x","b":[1,"y"],"c/d":{"e":true,"f":"secret-text"}}`)}
	if got := s.ShownConfig(); got != string(s.Config) {
		t.Errorf("without references it is shown as %s", got)
	}
	s.References.Config = map[string]string{"/a": "env.A", "/b/1": `"${local.b}"`, "/c~1d/e": "local.e"}
	s.References.AddText("secret-text", "env.F")
	if got, want := s.ShownConfig(), `{"a":env.A,"b":[1,"${local.b}"],"c/d":{"e":local.e,"f":"env.F"}}`; got != want {
		t.Errorf("it is shown as %s, want %s", got, want)
	}
}
