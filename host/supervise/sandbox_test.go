package supervise

import (
	"strings"
	"testing"
)

func TestSandboxCheck(t *testing.T) {
	no := new(false)
	for name, c := range map[string]struct {
		box   Sandbox
		words string
	}{
		"nothing asked":               {Sandbox{}, ""},
		"all asked":                   {Sandbox{Level: Isolated, Require: Confined, Write: []string{"/a"}, Read: []string{"/b"}, Network: new(true)}, ""},
		"a wrapper":                   {Sandbox{Wrapper: []string{"bwrap"}, Require: Supervised}, ""},
		"a wrapper and a level":       {Sandbox{Wrapper: []string{"nice"}, Level: Confined, Require: Confined}, ""},
		"unknown level":               {Sandbox{Level: "jailed"}, "no sandbox level"},
		"a level for wrappers alone":  {Sandbox{Level: Container}, "no sandbox level"},
		"unknown requirement":         {Sandbox{Require: "jailed"}, "no sandbox level"},
		"more than asked":             {Sandbox{Require: Isolated}, "more than the level"},
		"a wrapper's unknown effect":  {Sandbox{Wrapper: []string{"bwrap"}, Require: Confined}, "wrapper"},
		"privileges when confined":    {Sandbox{NewPrivileges: true}, "privileges"},
		"privileges without network":  {Sandbox{Level: Supervised, NewPrivileges: true, Network: no}, "network"},
		"a wrapper without a program": {Sandbox{Wrapper: []string{""}}, "no program"},
		"a NUL in the wrapper":        {Sandbox{Wrapper: []string{"a", "\x00"}}, "NUL"},
		"a relative folder":           {Sandbox{Write: []string{"a"}}, "absolute"},
		"a NUL in a folder":           {Sandbox{Read: []string{"/\x00"}}, "absolute"},
		"a negative limit":            {Sandbox{Limits: SandboxLimits{Files: -1}}, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.box.Check()
			if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
				t.Errorf("got %v, want words %q", err, c.words)
			}
		})
	}
}

// What a machine cannot do is never called done.
func TestWhatMachinesReach(t *testing.T) {
	all := Means{Stage: true, NoNewPrivs: true, Landlock: 7, Seccomp: true, Namespaces: true}
	with := func(change func(*Means)) Means {
		m := all
		change(&m)
		return m
	}
	landlock := func(abi int) Means { return with(func(m *Means) { m.Landlock = abi }) }
	bare := func(abi int) Means { return with(func(m *Means) { m.Landlock, m.Namespaces = abi, false }) }
	noFilters := with(func(m *Means) { m.Seccomp = false })
	for name, c := range map[string]struct {
		machine Means
		box     Sandbox
		got     Level
		missing string // words, "" for nothing at all
		network bool
		refused string
	}{
		"all there":                     {all, Sandbox{Level: Isolated, Require: Isolated}, Isolated, "", false, ""},
		"all there, the default":        {all, Sandbox{}, Confined, "", true, ""},
		"no more than asked":            {all, Sandbox{Level: Supervised}, Supervised, "", true, ""},
		"a wrapper":                     {all, Sandbox{Wrapper: []string{"bwrap"}}, Container, "", true, ""},
		"no Landlock":                   {landlock(0), Sandbox{}, Supervised, "no Landlock", true, ""},
		"no Landlock, isolated":         {landlock(0), Sandbox{Level: Isolated}, Supervised, "from reading and writing elsewhere, from their abstract", false, ""},
		"no Landlock, no namespaces":    {bare(0), Sandbox{}, Supervised, "from writing elsewhere, from signals to other processes, from", true, ""},
		"no namespaces, memory":         {bare(7), Sandbox{}, Confined, "reach their shared memory and message queues", true, ""},
		"no Landlock, required":         {landlock(0), Sandbox{Require: Confined}, Supervised, "no Landlock", true, "reaches \"supervised\""},
		"no Landlock, supervised":       {landlock(0), Sandbox{Level: Supervised, Require: Supervised}, Supervised, "", true, ""},
		"the first Landlock":            {landlock(1), Sandbox{}, Supervised, "moved from one folder", true, ""},
		"the second":                    {landlock(2), Sandbox{}, Supervised, "emptied", true, ""},
		"the third":                     {landlock(3), Sandbox{}, Confined, "ioctl", true, ""},
		"the third, without namespaces": {bare(3), Sandbox{}, Supervised, "signals", true, ""},
		"the fifth, without namespaces": {bare(5), Sandbox{}, Supervised, "signals", true, ""},
		"the sixth, without namespaces": {bare(6), Sandbox{Require: Confined}, Confined, "no process namespaces", true, ""},
		"neither namespaces nor filters": {with(func(m *Means) { m.Namespaces, m.Seccomp = false, false }), Sandbox{}, Supervised,
			"limits of other processes", true, ""},
		"no filters":                           {noFilters, Sandbox{Level: Isolated}, Confined, "rare calls", true, ""},
		"no filters, required":                 {noFilters, Sandbox{Level: Isolated, Require: Isolated}, Confined, "filters", true, "reaches \"confined\""},
		"no filters, no network":               {noFilters, Sandbox{Network: new(false)}, Confined, "network is open", true, ""},
		"no filters, no network, required":     {noFilters, Sandbox{Network: new(false), Require: Confined}, Confined, "network is open", true, "no network"},
		"no filters, no network, old Landlock": {with(func(m *Means) { m.Seccomp, m.Landlock = false, 3 }), Sandbox{Network: new(false)}, Confined, "the network is open, and services", true, ""},
		"isolated with network":                {all, Sandbox{Level: Isolated, Network: new(true)}, Isolated, "", true, ""},
		"no no_new_privs":                      {with(func(m *Means) { m.NoNewPrivs = false }), Sandbox{}, None, "sudo", true, ""},
		"another system":                       {Means{}, Sandbox{}, None, "this system", true, ""},
		"another system, required":             {Means{}, Sandbox{Require: Supervised}, None, "this system", true, "reaches \"none\""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.box.on(c.machine)
			if got.Got != c.got || got.Network != c.network {
				t.Errorf("got %q, network %t; want %q, %t", got.Got, got.Network, c.got, c.network)
			}
			if said := strings.Join(got.Missing, "\n"); (said == "") != (c.missing == "") || !strings.Contains(said, c.missing) {
				t.Errorf("missing: %q, want words %q", said, c.missing)
			}
			if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("error %v, want words %q", err, c.refused)
			}
		})
	}
}
