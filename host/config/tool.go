package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/sdk"
)

// maxResult is the largest max_result_bytes.
const maxResult = 64 << 20

// tools reads the tool blocks of a plugin, and gives the names of those that are idempotent.
func (f *fields) tools(plugin string) []string {
	var idempotent []string
	names := seen{}
	for _, b := range f.blocks("tool") {
		if name, repeatable := f.tool(b, plugin, names); repeatable {
			idempotent = append(idempotent, name)
		}
	}
	return idempotent
}

// tool reads a tool block into the settings of the config.
func (f *fields) tool(b *hclsyntax.Block, plugin string, names seen) (name string, idempotent bool) {
	name, at, ok := f.label(b, toolNaming)
	if ok && f.fits(plugin, name, at) {
		names.add(f.report, "tool", name, at)
	}
	in := f.open(b.Body, "tool", fmt.Sprintf("%s, tool %q", f.what, brief(name)))
	settings := ToolSettings{
		Description:    in.text("description", checkDescription),
		Timeout:        in.duration("timeout", time.Hour),
		MaxResultBytes: in.integer("max_result_bytes", maxResult),
		Aliases:        in.aliases(plugin + "__" + name),
		Limits:         in.limits(),
		Source:         f.place(b.TypeRange),
	}
	settings.Description = f.hidden.Hide(settings.Description)
	idempotent = in.boolean("idempotent")
	in.done()
	f.config.Tools[plugin+"__"+name] = settings
	return name, idempotent
}

var aliasPattern = lazily(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// aliases reads the other names of a tool. One that another tool has too is reported with both.
func (f *fields) aliases(tool string) []string {
	names, _ := f.texts("aliases", func(s string) (problem, hint string) {
		if !aliasPattern(s) {
			return "is no name for a tool", "a name has at most 64 letters, digits, \"_\" and \"-\", and begins with a letter or \"_\""
		}
		return "", ""
	})
	for _, alias := range names {
		for _, owner := range slices.Sorted(maps.Keys(f.config.Tools)) {
			same := func(s string) bool { return strings.EqualFold(s, alias) }
			if owner != tool && slices.ContainsFunc(f.config.Tools[owner].Aliases, same) {
				f.wrong(f.body.Attributes["aliases"].NameRange, "%s and %s have the alias %q both", owner, tool, alias).hint("keep one of the two")
			}
		}
	}
	return names
}

// fits reports a full name that is too long for model vendors.
func (f *fields) fits(plugin, tool string, at hcl.Range) bool {
	full := plugin + "__" + tool
	if len(full) <= maxToolName {
		return true
	}
	f.add(at, "%s has %d characters", full, len(full)).hint("the full name of a tool has at most %d; give the plugin a shorter one", maxToolName)
	return false
}

func checkDescription(s string) (problem, hint string) {
	switch {
	case strings.TrimSpace(s) == "":
		return "is blank", "models choose a tool by its description; remove the line to keep the plugin's"
	case len(s) > sdk.MaxDescription:
		return fmt.Sprintf("has %d bytes", len(s)), fmt.Sprintf("write %d at most", sdk.MaxDescription)
	}
	return "", ""
}
