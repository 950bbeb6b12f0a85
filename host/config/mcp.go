package config

import (
	"maps"
	"slices"

	"github.com/toolhost/toolhost/host/internal/hclfile"
)

// An Identity is someone to whom `toolhost mcp --http` serves tools.
type Identity struct {
	Name string
	// Token is the bearer token of this identity; "" when its reference has no value.
	Token string
	// Profile names the profile whose tools it sees; "" is all tools.
	Profile string
	Source  string // such as "config.hcl:12"
}

// identities reads the mcp block, after the profiles.
func (r *reader) identities(top *hclfile.Body) {
	b := top.Block("mcp")
	if b == nil {
		return
	}
	mcp := top.Open(b, "mcp")
	names := hclfile.Names{}
	for _, b := range mcp.Blocks("identity") {
		name, in := mcp.Named(b, hclfile.PluginNaming, names)
		i := Identity{Name: name, Token: in.Text("token", hclfile.CheckLine), Profile: in.Text("profile", hclfile.CheckLine),
			Source: in.Where()}
		in.Require("token", "env.MCP_TOKEN")
		refuseWrittenOut(in, "token", "MCP_TOKEN")
		if _, ok := r.config.Profiles[i.Profile]; i.Profile != "" && !ok {
			known := slices.Sorted(maps.Keys(r.config.Profiles))
			in.Wrong(in.ExprOf("profile").Range(), "there is no profile %q", hclfile.Brief(i.Profile)).Hint =
				hclfile.Suggest(i.Profile, known, "profiles")
		}
		in.Done()
		r.config.Identities = append(r.config.Identities, i)
	}
	mcp.Done()
}
