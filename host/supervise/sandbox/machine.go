package sandbox

import (
	"os/exec"
	"sync"

	"github.com/toolhost/toolhost/sdk/proctree"
)

// Means are what a machine offers to keep plugins in.
type Means struct {
	Stage        bool   `json:"stage"`                   // this system can restrict plugins: Linux
	NoNewPrivs   bool   `json:"no_new_privs"`            // programs can be kept from gaining privileges
	Landlock     int    `json:"landlock"`                // version of its interface, 0 for none
	Seccomp      bool   `json:"seccomp"`                 // filters of system calls
	Namespaces   bool   `json:"namespaces"`              // process namespaces
	NoNamespaces string `json:"no_namespaces,omitempty"` // why not
	NoFixing     bool   `json:"no_fixing,omitempty"`     // files cannot be made read-only in them: Linux before 5.12
	Bubblewrap   string `json:"bubblewrap,omitempty"`    // the program bwrap in PATH, for wrappers
}

// Machine finds out what this machine offers, once: later calls give the same. The first takes a few milliseconds.
func Machine() Means {
	_ = proctree.Namespaces() // so that it is known
	return Presumed()
}

// Presumed is Machine without a try: process namespaces are there until a start finds out that they are not.
func Presumed() Means {
	m, no := offered(), proctree.NamespacesRefused()
	if m.Namespaces = no == nil; no != nil {
		m.NoNamespaces = no.Error()
	}
	m.NoFixing = !proctree.Offered().Fixed // which a start may find out too
	return m
}

// Protects says whether all file systems can be made read-only for a plugin but for its folders, and paths in those.
func (m Means) Protects() bool { return m.Namespaces && !m.NoFixing }

var offered = sync.OnceValue(func() Means {
	o := proctree.Offered()
	m := Means{Stage: o.Restrictions, NoNewPrivs: o.NoNewPrivileges, Landlock: o.Landlock, Seccomp: o.Filters}
	m.Bubblewrap, _ = exec.LookPath("bwrap")
	return m
})
