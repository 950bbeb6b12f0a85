package main

import (
	"os"
	"path/filepath"
	"testing"
)

// At a terminal the lines between calls are answers to questions; a call in the background cannot ask one.
func TestPluginRunAtTheTerminal(t *testing.T) {
	t.Parallel()
	p, dir := atTerminal(t)
	p.enter("toolhost plugin run shell; echo \"exit:$?:\"")
	p.sees("shell: ready with")
	p.enter(`exec {"command":"echo one > one"}`)
	p.asked(1)
	p.enter("y")
	p.sees("Duration: ")
	p.enter(`exec {"command":"echo two > two"} &`)
	p.sees("it runs in the background")
	p.enter(`exec {"command":"echo three > three"}`)
	p.asked(2)
	p.enter("n")
	p.sees("Why not?")
	p.enter("")
	p.sees("E_REJECTED")
	p.enter("status")
	p.sees("state        ready since ")
	p.enter("reload")
	p.sees("shell: reloaded; its tools are the same")
	p.enter("reset")
	p.sees("shell: its crashes are forgotten; it is ready")
	p.enter("quit")
	p.sees("exit:0:")
	for name, want := range map[string]bool{"one": true, "two": false, "three": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
