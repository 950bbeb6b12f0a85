package supervise

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
)

// Folders of ours in a work folder are kept from the plugin. If they cannot be, it is not called confined, and is not
// started when it must be.
func TestOwnFoldersInAWorkFolder(t *testing.T) {
	if reached(sandbox.Confined) != sandbox.Confined {
		t.Logf("this machine reaches %s", reached(sandbox.Confined))
		return
	}
	for name, place := range map[string]func(o *Options, work string){
		"nothing":       func(*Options, string) {},
		"the programs":  func(o *Options, work string) { o.BinDir = filepath.Join(work, "not", "yet") },
		"what is known": func(o *Options, work string) { o.CacheDir = filepath.Join(work, "cache") },
		"the sockets":   func(o *Options, work string) { o.RunDir = work },
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Workdir: shortDir(t), RunDir: shortDir(t), BinDir: filepath.Join(shortDir(t), "bin")}
			place(&o, o.Workdir)
			s := must(New(o))
			t.Cleanup(func() { _ = s.Close() })
			p := add(t, s, attackerOf(t, "loose", sandbox.Spec{Level: sandbox.Confined}))
			mustCall(t, p, "facts", "")
			want, box := sandbox.Confined, p.Status().Sandbox
			if name == "the sockets" || name != "nothing" && !sandbox.Machine().Namespaces {
				want = sandbox.Supervised
			}
			if box.Got != want || (want == sandbox.Supervised) != strings.Contains(strings.Join(box.Missing, "\n"), "it can write to "+o.Workdir) {
				t.Errorf("the status says %+v", box)
			}
			_, err := call(t, add(t, s, attackerOf(t, "strict", sandbox.Spec{Level: sandbox.Confined, Require: sandbox.Confined})), "facts", "")
			if want == sandbox.Confined && err != nil {
				t.Error(err)
			} else if want != sandbox.Confined {
				checkError(t, err, sdk.CodePluginUnavailable, `requires the sandbox level "confined"`, "it can write to "+o.Workdir)
			}
		})
	}
}

// attackerOf may write to its work folder.
func attackerOf(t *testing.T, name string, box sandbox.Spec) Spec {
	spec := attacker(makePrey(t), box)
	spec.Name, spec.Sandbox.Write = name, nil
	return spec
}
