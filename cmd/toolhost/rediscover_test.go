//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/supervise"
)

// A running host gets the new tools of a project's script after a change.
func TestChangedScriptReachesTheHost(t *testing.T) {
	dir := t.TempDir()
	script := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "tools"), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script(`echo '[{"name":"old"}]'`)
	s, err := supervise.New(supervise.Options{Workdir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	p, err := s.Add(supervise.Spec{Name: "project", Command: []string{filepath.Join(bin, "toolhost-plugin-discover")},
		Config: json.RawMessage(`{"discovery_command":"./tools","call_command":"./tools"}`)})
	if err != nil {
		t.Fatal(err)
	}
	changes := make(chan struct{}, 1)
	go func() {
		_ = p.Watch(t.Context(), func() {
			select {
			case changes <- struct{}{}:
			default:
			}
		})
	}()
	awaitTools(t, p, changes, "old")
	script(`echo '[{"name":"old"},{"name":"new"}]'`)
	awaitTools(t, p, changes, "old", "new")
}

// awaitTools waits until the plugin has the tools, and lists again whenever it reports a change.
func awaitTools(t *testing.T, p *supervise.Process, changes <-chan struct{}, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		tools, err := p.Tools(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		if slices.Equal(names, want) {
			return
		}
		select {
		case <-changes:
		case <-ctx.Done():
			t.Fatalf("the tools are %q, want %q", names, want)
		}
	}
}
