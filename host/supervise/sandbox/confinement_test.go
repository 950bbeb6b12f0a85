package sandbox

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk/proctree"
)

func TestCheck(t *testing.T) {
	no := new(false)
	for name, c := range map[string]struct {
		box   Spec
		words string
	}{
		"nothing asked": {Spec{}, ""},
		"all asked": {Spec{Level: Isolated, Require: Confined, Write: []string{"/a"}, Read: []string{"/b"},
			Network: new(true)}, ""},
		"a wrapper":                   {Spec{Wrapper: []string{"bwrap"}, Require: Supervised}, ""},
		"a wrapper and a level":       {Spec{Wrapper: []string{"nice"}, Level: Confined, Require: Confined}, ""},
		"unknown level":               {Spec{Level: "jailed"}, "no sandbox level"},
		"a level for wrappers alone":  {Spec{Level: Container}, "no sandbox level"},
		"unknown requirement":         {Spec{Require: "jailed"}, "no sandbox level"},
		"more than asked":             {Spec{Require: Isolated}, "more than the requested level"},
		"a wrapper's unknown effect":  {Spec{Wrapper: []string{"bwrap"}, Require: Confined}, "wrapper"},
		"privileges when confined":    {Spec{NewPrivileges: true}, "privileges"},
		"privileges without network":  {Spec{Level: Supervised, NewPrivileges: true, Network: no}, "network"},
		"a wrapper without a program": {Spec{Wrapper: []string{""}}, "no program"},
		"a NUL in the wrapper":        {Spec{Wrapper: []string{"a", "\x00"}}, "NUL"},
		"a relative folder":           {Spec{Write: []string{"a"}}, "absolute"},
		"a NUL in a folder":           {Spec{Read: []string{"/\x00"}}, "absolute"},
		"a negative limit":            {Spec{Limits: Limits{Files: -1}}, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.box.Check()
			if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
				t.Errorf("got %v, want words %q", err, c.words)
			}
		})
	}
}

// A restriction that the machine cannot apply is never reported as applied.
func TestLevelsOfMachines(t *testing.T) {
	all := proctree.Capabilities{Sandbox: true, NoNewPrivs: true, Landlock: 7, Seccomp: true, Namespaces: true}
	with := func(change func(*proctree.Capabilities)) proctree.Capabilities {
		m := all
		change(&m)
		return m
	}
	landlock := func(abi int) proctree.Capabilities { return with(func(m *proctree.Capabilities) { m.Landlock = abi }) }
	bare := func(abi int) proctree.Capabilities {
		return with(func(m *proctree.Capabilities) { m.Landlock, m.Namespaces = abi, false })
	}
	noFilters := with(func(m *proctree.Capabilities) { m.Seccomp = false })
	noFixing := with(func(m *proctree.Capabilities) { m.NoReadOnlyMounts = true })
	noNamespaces := with(func(m *proctree.Capabilities) { m.Namespaces, m.NamespacesError = false, "EPERM" })
	for name, c := range map[string]struct {
		machine proctree.Capabilities
		box     Spec
		got     Level
		missing string // words of a sentence, "" for none
		network bool
		refused string
	}{
		"all there":              {all, Spec{Level: Isolated, Require: Isolated}, Isolated, "", false, ""},
		"all there, the default": {all, Spec{}, Confined, "", true, ""},
		"no more than asked":     {all, Spec{Level: Supervised}, Supervised, "", true, ""},
		"a wrapper":              {all, Spec{Wrapper: []string{"bwrap"}}, Container, "", true, ""},
		"no Landlock":            {landlock(0), Spec{}, Supervised, "write to terminals, devices", true, ""},
		"no Landlock, isolated": {landlock(0), Spec{Level: Isolated}, Supervised,
			"read all that its user may read. It takes Linux 5.13", false, ""},
		"no Landlock, no namespaces": {bare(0), Spec{}, Supervised, "write to files elsewhere; write to terminals", true, ""},
		"no Landlock, required": {landlock(0), Spec{Require: Confined}, Supervised, "no Landlock", true,
			"would have \"supervised\": the kernel has no Landlock"},
		"no Landlock, supervised": {landlock(0), Spec{Level: Supervised, Require: Supervised}, Supervised, "", true, ""},
		"the first Landlock":      {landlock(1), Spec{}, Confined, "moved from one folder", true, ""},
		"the second":              {landlock(2), Spec{Level: Isolated}, Isolated, "ioctl", false, ""},
		"the second, without mounts": {with(func(m *proctree.Capabilities) { m.Landlock, m.NoReadOnlyMounts = 2, true }),
			Spec{}, Supervised, "the plugin can empty files elsewhere", true, ""},

		"no namespaces": {noNamespaces, Spec{}, Supervised,
			"no process namespaces (EPERM): the plugin can see other processes", true, ""},
		"no namespaces, isolated": {noNamespaces, Spec{Level: Isolated}, Supervised,
			"change auto-executed files in its folders, such as .git", false, ""},
		"no namespaces, required": {noNamespaces, Spec{Level: Isolated, Require: Isolated}, Supervised,
			"Allow user namespaces", false, "sysctl user.max_user_namespaces"},
		"no namespaces, less required": {noNamespaces, Spec{Level: Isolated, Require: Confined}, Supervised, "such as .git",
			false, "such as .git"},
		"no namespaces, old Landlock": {bare(5), Spec{}, Supervised, "end other processes by signals", true, ""},
		"neither namespaces nor filters": {with(func(m *proctree.Capabilities) { m.Namespaces, m.Seccomp = false, false }),
			Spec{}, Supervised, "change the limits of other processes", true, ""},
		"no read-only mounts": {noFixing, Spec{}, Supervised,
			"files cannot be made read-only by mounts: the plugin can change auto-executed files", true, ""},
		"no read-only mounts, isolated": {noFixing, Spec{Level: Isolated}, Supervised, "cannot be changed at all", false,
			""},
		"no read-only mounts, required": {noFixing, Spec{Require: Confined}, Supervised, "open_tree", true,
			"modes, owners, times"},

		"no filters": {noFilters, Spec{Level: Isolated}, Supervised, "rare calls", true, ""},
		"no filters, required": {noFilters, Spec{Level: Isolated, Require: Confined}, Supervised, "setuid",
			true, "would have \"supervised\""},
		"no filters, no network": {noFilters, Spec{Network: new(false)}, Supervised, "use the network", true,
			""},
		"no filters, supervised, no network": {noFilters, Spec{Level: Supervised, Network: new(false)}, Supervised,
			"use the network but for TCP", true, ""},
		"no filters, no network, required": {noFilters, Spec{Level: Supervised, Network: new(false), Require: Supervised},
			Supervised, "use the network", true, "no network"},
		"no filters, no network, old Landlock": {with(func(m *proctree.Capabilities) { m.Seccomp, m.Landlock = false, 3 }),
			Spec{Network: new(false)}, Supervised, "use the network, and ask services", true, ""},
		"isolated with network": {all, Spec{Level: Isolated, Network: new(true)}, Isolated, "", true, ""},
		"no no_new_privs": {with(func(m *proctree.Capabilities) { m.NoNewPrivs = false }), Spec{}, None,
			"sudo", true, ""},
		"another system": {proctree.Capabilities{}, Spec{}, None, "this system", true, ""},
		"another system, required": {proctree.Capabilities{}, Spec{Require: Supervised}, None, "this system",
			true, "would have \"none\""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.box.Evaluate(c.machine)
			if got.Effective != c.got || got.Network != c.network {
				t.Errorf("got %q, network %t; want %q, %t", got.Effective, got.Network, c.got, c.network)
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

// On a system without such limits, root is not reported as an exception.
func TestLimitsWithoutEffect(t *testing.T) {
	got, err := Spec{Limits: Limits{Processes: 1}}.Evaluate(proctree.Capabilities{})
	if err != nil || len(got.Missing) != 1 {
		t.Errorf("%q, %v", got.Missing, err)
	}
}
