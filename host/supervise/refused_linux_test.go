package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/internal/stage"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk/proctree"
)

func init() { plays["refused"] = playRefused }

// playRefused is a host that starts confined plugins without having asked what the machine can do, and tells what came of it.
func playRefused() {
	s := must(New(Options{RunDir: os.Getenv("RUN")}))
	for _, name := range []string{"first", "second"} {
		spec := playing(name, "good")
		spec.Sandbox.Level = sandbox.Confined
		p := must(s.Add(spec))
		_ = must(p.Call(context.Background(), request("echo", "")))
		fmt.Println(string(must(json.Marshal(p.Status().Sandbox))), p.Status().Containment)
	}
	must(0, s.Close())
	os.Exit(0)
}

// The first start finds out whether there are namespaces: where they are refused the plugin is started without, and told to
// have what is left, as on a machine that is known to have none.
func TestNamespacesAreFoundOutByTheFirstStart(t *testing.T) {
	for name, refuse := range map[string]*proctree.Restrictions{"as it is": nil, "refused": {NoNewPrivileges: true, NoKernel: true}} {
		t.Run(name, func(t *testing.T) {
			m, containment := sandbox.Machine(), "pid-namespace"
			if refuse != nil && !m.Seccomp {
				t.Log("nothing refuses here")
				refuse = nil
			}
			if m.Namespaces = m.Namespaces && refuse == nil; !m.Namespaces {
				containment = "process-tree"
			}
			var out bytes.Buffer
			c := proctree.Cmd{Path: os.Args[0], Env: append(os.Environ(), "PLAY=refused", "RUN="+shortDir(t)), Stdout: &out, Stderr: &out, Restrict: refuse}
			if exit, err := c.Run(t.Context()); err != nil || exit.Code != 0 {
				t.Fatalf("%v, %v: %s", exit, err, out.String())
			}
			lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
			want := must(Options{}.Confine(Spec{Sandbox: sandbox.Spec{Level: sandbox.Confined}}, m))
			for _, line := range lines {
				text, contained, _ := bytes.Cut(line, []byte("} "))
				var got sandbox.Confinement
				if err := json.Unmarshal(append(slices.Clone(text), '}'), &got); err != nil || string(contained) != containment {
					t.Fatalf("%s: %v", line, err)
				}
				if got.Got != want.Got || len(got.Missing) != len(want.Missing) {
					t.Errorf("got %+v, want %+v", got, want)
				}
			}
			if len(lines) != 2 {
				t.Errorf("it says %s", out.String())
			}
		})
	}
}

// What a start beside this one finds out does not make half of its sandbox one for another machine.
func TestAStartLooksAtTheMachineOnce(t *testing.T) {
	s, looks := supervisor(t), 0
	s.machine = func() sandbox.Means {
		looks++
		return sandbox.Means{Stage: true, NoNewPrivs: true, Landlock: 7, Seccomp: true, Namespaces: looks == 1}
	}
	spec := playing("good", "good")
	spec.Sandbox = sandbox.Spec{Write: []string{shortDir(t)}}
	how, err := s.stage(spec, os.Args[0], stage.Folders{Temp: t.TempDir()}, nil, s.programs)
	cmd := how.Command("")
	if err != nil || looks != 1 || !cmd.Namespace || !cmd.Restrict.NoInterference || !slices.Contains(cmd.Restrict.Write, stage.SharedMemory) {
		t.Errorf("after %d looks: %v, %+v", looks, err, cmd.Restrict)
	}
}
