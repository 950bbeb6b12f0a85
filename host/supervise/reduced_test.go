//go:build unix

package supervise

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// Each reason is reported once, with all plugins that share it; a plugin that is added later has a report of its own.
func TestReductionsAreReportedOnce(t *testing.T) {
	var got []Reduction
	s := must(New(Options{RunDir: shortDir(t), OnReduced: func(r Reduction) {
		got = append(got, r)
		panic("which ends nothing")
	}}))
	t.Cleanup(func() { _ = s.Close() })
	machine := proctree.Capabilities{Sandbox: true, NoNewPrivs: true, Landlock: 7, Seccomp: true}
	s.capabilities = func() proctree.Capabilities { return machine }
	confined := func(name string, write ...string) Spec {
		return Spec{Name: name, Command: []string{"/bin/true"}, Sandbox: sandbox.Spec{Write: write}}
	}
	isolated := Spec{Name: "isolated", Command: []string{"/bin/true"}, Sandbox: sandbox.Spec{Level: sandbox.Isolated}}
	supervised := Spec{Name: "supervised", Command: []string{"/bin/true"},
		Sandbox: sandbox.Spec{Level: sandbox.Supervised}}
	strict := confined("strict")
	strict.Sandbox.Require = sandbox.Confined
	for _, spec := range []Spec{isolated, supervised, strict, confined("a", "/x"), confined("b", "/x"),
		confined("c", "/y")} {
		must(s.Add(spec))
	}
	launch := func(names ...string) {
		t.Helper()
		got = nil
		var wg sync.WaitGroup
		for _, name := range names {
			spec := *s.Process(name).spec.Load()
			c := must(spec.Sandbox.Evaluate(machine))
			c.Missing = append(slices.Clone(c.Missing), fmt.Sprint("writes to ", spec.Sandbox.Write))
			wg.Go(func() { s.reportReduced(spec, c) })
		}
		wg.Wait()
	}
	check := func(when string, want ...string) {
		t.Helper()
		var all []string
		for _, r := range got {
			slices.Sort(r.Plugins)
			reason, _, _ := strings.Cut(r.Missing, " (") // without the machine's own error
			reason, _, _ = strings.Cut(reason, ":")
			all = append(all, fmt.Sprintf("%s %s→%s: %s", strings.Join(r.Plugins, "+"), r.Requested, r.Effective, reason))
		}
		slices.Sort(all)
		if !slices.Equal(all, want) {
			t.Errorf("%s:\n%s\nwant:\n%s", when, strings.Join(all, "\n"), strings.Join(want, "\n"))
		}
	}
	launch("a", "b", "c", "supervised")
	check("first starts", "a+b confined→supervised: writes to [/x]",
		"a+b+c confined→supervised: there are no process namespaces",
		"a+b+c confined→supervised: without process namespaces there are no read-only mounts",
		"c confined→supervised: writes to [/y]")
	launch("b", "a", "c")
	check("restarts")
	must(s.Add(confined("d", "/x")))
	launch("a", "d")
	check("a plugin that was added", "d confined→supervised: there are no process namespaces",
		"d confined→supervised: without process namespaces there are no read-only mounts",
		"d confined→supervised: writes to [/x]")
}

func TestNamePlugins(t *testing.T) {
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprint("p", i)
	}
	for n, want := range map[int]string{
		1: `plugin "p0"`, 2: `plugins "p0" and "p1"`,
		8: `plugins "p0", "p1", "p2", "p3", "p4", "p5", "p6" and "p7"`,
		9: `plugins "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7" and "p8"`,
		// The others are counted where that makes it shorter.
		100: `plugins "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7" and 92 others`,
	} {
		if got := NamePlugins(names[:n]); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
