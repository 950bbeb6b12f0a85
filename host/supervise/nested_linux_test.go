package supervise

import (
	"os"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
)

// What a plugin puts in the place of a folder that it may write to gives it nothing at the next start.
func TestLinksInOwnFolders(t *testing.T) {
	if reached(sandbox.Confined) != sandbox.Confined {
		t.Logf("this machine confines nothing: Landlock %d", sandbox.Machine().Landlock)
		return
	}
	for _, level := range []sandbox.Level{sandbox.Confined, sandbox.Isolated} {
		t.Run(string(level), func(t *testing.T) {
			p := makePrey(t)
			box := sandbox.Spec{Level: level, Write: []string{p.Inside, p.Inside + "/a"}, Read: []string{p.Inside + "/b"}}
			proc := add(t, supervisor(t), attacker(p, box))
			mustCall(t, proc, "run", "cd "+p.Inside+" && echo new > a/file && cat b/file a/file; rm -r a; rm -r b; ln -sT "+p.Outside+" a; ln -sT "+p.Outside+" b")
			_, _ = call(t, proc, "give-up", "")
			_, err := call(t, proc, "run", "echo changed > "+p.Secret)
			checkError(t, err, sdk.CodePluginUnavailable, "leads to "+p.Outside, "name "+p.Outside+" itself")
			if text := string(must(os.ReadFile(p.Secret))); text != "text" {
				t.Errorf("it wrote %q outside", text)
			}
		})
	}
}

// A program that is found by a link in a folder of the plugin's cannot be read at isolated, and that is said.
func TestProgramByALinkInOwnFolders(t *testing.T) {
	if reached(sandbox.Isolated) != sandbox.Isolated {
		t.Logf("this machine reaches %s", reached(sandbox.Isolated))
		return
	}
	p := makePrey(t)
	must(0, os.Symlink(os.Args[0], p.Inside+"/plugin"))
	spec := attacker(p, sandbox.Spec{Level: sandbox.Isolated})
	spec.Command = []string{p.Inside + "/plugin"}
	_, err := call(t, add(t, supervisor(t), spec), "facts", "")
	checkError(t, err, sdk.CodePluginUnavailable, "it is run as "+p.Inside+"/plugin, which leads to "+os.Args[0], "name "+os.Args[0]+" itself")
}
