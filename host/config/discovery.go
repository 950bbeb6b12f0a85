package config

import (
	"cmp"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host/supervise"
)

// discoveryTimeout is how long a discovery command may take when the file does not say.
const discoveryTimeout = 10 * time.Second

// discovery reads a plugin_discovery block.
func (r *reader) discovery(b *hclsyntax.Block, names seen) {
	name, f := r.named(b, pluginNaming, names)
	d := supervise.Discovery{
		Name:    name,
		Command: f.command("write the program that prints plugin specs, and its arguments"),
		Dir:     r.config.Dir,
		Timeout: cmp.Or(f.duration("timeout", 10*time.Minute), discoveryTimeout),
		Sandbox: f.ownSandbox(),
		Source:  r.place(b.TypeRange),
	}
	f.require("command", `["./list-plugins"]`, b)
	f.done()
	r.config.Discovery = append(r.config.Discovery, d)
}
