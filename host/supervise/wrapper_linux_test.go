package supervise

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// bubblewrap gives a command that lets the plugin write to the inside alone, and whether it is the real bwrap: else it is a
// script that only does what every wrapper must.
func bubblewrap(t *testing.T, p prey) (command []string, genuine bool) {
	t.Helper()
	if path := sandbox.Machine().Bubblewrap; path != "" {
		bwrap := []string{"bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
			"--bind", p.Inside, p.Inside, "--bind", "{tmp_dir}", "{tmp_dir}", "--bind", "{socket_dir}", "{socket_dir}", "--"}
		if exec.Command(path, "--unshare-all", "--ro-bind", "/", "/", "true").Run() == nil {
			return bwrap, true
		}
	}
	script := filepath.Join(shortDir(t), "wrapper")
	must(0, os.WriteFile(script, []byte("#!/bin/sh\ntest -d \"$1\" -a -d \"$2\" && shift 2 && exec \"$@\"\n"), 0o755))
	return []string{script, "{tmp_dir}", "{socket_dir}"}, false
}

func TestWrapper(t *testing.T) {
	p := makePrey(t)
	wrapper, genuine := bubblewrap(t, p)
	proc := add(t, supervisor(t), attacker(p, sandbox.Spec{Wrapper: wrapper}))
	var said map[string]string
	must(0, json.Unmarshal([]byte(mustCall(t, proc, "attack", "")), &said))
	if s := proc.Status().Sandbox; s.Got != sandbox.Container || s.Wrapper != wrapper[0] {
		t.Errorf("the status says %+v", s)
	}
	for _, name := range []string{"write inside", "write to TMPDIR", "own unix socket", "run a shell"} {
		if said[name] != "" {
			t.Errorf("%s: %s", name, said[name])
		}
	}
	for _, name := range []string{"create outside", "overwrite outside", "chmod outside", "tcp", "signal the host", "abstract socket"} {
		if worked := said[name] == ""; worked == genuine {
			t.Errorf("%s: worked: %t with the real bwrap: %t (%s)", name, worked, genuine, said[name])
		}
	}
	var f self
	must(0, json.Unmarshal([]byte(mustCall(t, proc, "facts", "")), &f))
	if f.Umask != umask() || f.Core != 0 || f.Files > sandbox.DefaultFiles || !f.NoNewPrivs {
		t.Errorf("what holds at every level does not around a wrapper: %+v", f)
	}
}

// A level that is asked for holds around the wrapper too.
func TestWrapperWithinALevel(t *testing.T) {
	p := makePrey(t)
	proc := add(t, supervisor(t), attacker(p, sandbox.Spec{Level: sandbox.Confined, Wrapper: []string{"/usr/bin/env", "MORE=1"}}))
	var said map[string]string
	must(0, json.Unmarshal([]byte(mustCall(t, proc, "attack", "")), &said))
	if s := proc.Status().Sandbox; s.Asked != sandbox.Confined || s.Wrapper != "/usr/bin/env" {
		t.Errorf("the status says %+v", s)
	}
	if holds := sandbox.Machine().Landlock > 0; (said["create outside"] == "") == holds {
		t.Errorf("with Landlock: %t; outside: %q", holds, said["create outside"])
	}
}
