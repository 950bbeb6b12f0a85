package main

import (
	"path/filepath"
	"testing"
)

// What the configuration says of calls at once in the host, and of calls that outlive a reload, holds; the second also as
// soon as it is changed.
func TestBoundsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	v := newVersioned(t, t.TempDir(), "tell")
	dir := filepath.Dir(v.path)
	config, gate := filepath.Join(dir, "config.hcl"), filepath.Join(dir, "gate")
	write := func(drain string) {
		writeText(t, config, "max_concurrency = 1\nplugin \"versioned\" {\n  command = [%q, %q]\n%s}\n", v.path, v.ran, drain)
	}
	write("")
	r := runIn(t, v, "--config", config, "--format", "json", "versioned")
	for range 6 { // one runs, four wait
		r.enter(`tell {"for":%q} &`, gate)
	}
	if got := r.answer(); got != "E_LIMIT" {
		t.Errorf("the sixth call at once: %s, want E_LIMIT", got)
	}
	writeText(t, gate, "")
	for range 5 {
		if got := r.answer(); got != "1" {
			t.Errorf("a call that had its turn: %s", got)
		}
	}
	write("  drain_timeout = \"1ms\"\n")
	r.enter(`tell {"id":"long","for":%q} &`, filepath.Join(t.TempDir(), "never"))
	eventually(t, "the call runs", func() bool { return v.runs()["long"] == 1 })
	r.enter("reload")
	if got := r.answer(); got != "E_CANCELED" {
		t.Errorf("a call that goes on for more than drain_timeout: %s, want E_CANCELED", got)
	}
	r.call("tell", "1")
	r.end(exitOK)
}
