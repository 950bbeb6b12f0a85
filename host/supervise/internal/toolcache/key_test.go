package toolcache

import (
	"encoding/json"
	"testing"
)

// No two settings share a key, and the same have the same, whatever the order of the environment.
func TestKeys(t *testing.T) {
	base := func() Slot {
		return Slot{image: image{content: "c"}, plugin: Plugin{Program: "/p", Workdir: "/w", Command: []string{"p", "a"}, Env: map[string]string{"A": "1", "B": "2"}, Inherited: []string{"LC_A=1"}}}
	}
	keys := map[string]string{base().key(steady): "nothing"}
	if again := base(); keys[again.key(steady)] == "" {
		t.Error("a key changes by itself")
	}
	for name, change := range map[string]func(*Slot){
		"path":               func(s *Slot) { s.plugin.Program = "/q" },
		"content":            func(s *Slot) { s.content = "d" },
		"words":              func(s *Slot) { s.plugin.Command = []string{"p a"} },
		"bytes":              func(s *Slot) { s.plugin.Command = []string{"p", "\xff"} },
		"other bytes":        func(s *Slot) { s.plugin.Command = []string{"p", "\xfe"} },
		"a replacement":      func(s *Slot) { s.plugin.Command = []string{"p", "\ufffd"} },
		"environment":        func(s *Slot) { s.plugin.Env = map[string]string{"A": "12", "B": ""} },
		"inherited":          func(s *Slot) { s.plugin.Inherited = []string{"LC_A=2"} },
		"no environment":     func(s *Slot) { s.plugin.Env = nil },
		"configuration":      func(s *Slot) { s.plugin.Config = json.RawMessage(`{}`) },
		"more configuration": func(s *Slot) { s.plugin.Config = json.RawMessage(`{"a":1}`) },
	} {
		s := base()
		change(&s)
		if other, taken := keys[s.key(steady)]; taken {
			t.Errorf("%s and %s have one key", name, other)
		}
		keys[s.key(steady)] = name
	}
	elsewhere := base()
	elsewhere.plugin.Workdir = "/x"
	if base().key(unsteady) == elsewhere.key(unsteady) || base().key(steady) != elsewhere.key(steady) || base().key(steady) == base().key(unsteady) {
		t.Error("the work folder counts where it should not, or does not where it should")
	}
}
