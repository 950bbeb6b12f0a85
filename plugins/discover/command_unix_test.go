//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// The .. of an absolute path is that of the folder to which a link before it leads.
func TestAbsoluteProgramsFollowLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "releases", "2"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "releases", "my tools"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("releases/2", filepath.Join(dir, "current")); err != nil {
		t.Fatal(err)
	}
	program := dir + "/current/../my tools"
	c, err := readCommand("discovery_command", []byte(strconv.Quote(program)), t.TempDir())
	if err != nil || c.program != program {
		t.Errorf("got %q, %v; want %q", c.program, err, program)
	}
}
