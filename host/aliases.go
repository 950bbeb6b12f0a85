package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/toolname"
)

// newAliases returns the tools by alias. Two tools cannot share an alias, ignoring case, and an alias cannot be a
// possible name of a plugin's tool.
func newAliases(plugins map[string]Plugin, tools map[string]ToolOptions) (map[string]string, error) {
	out, owners := map[string]string{}, map[string]string{}
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		for _, alias := range tools[tool].Aliases {
			plugin, _, full := strings.Cut(strings.ToLower(alias), "__")
			_, known := plugins[plugin]
			owner, taken := owners[strings.ToLower(alias)]
			switch {
			case !toolname.Alias().MatchString(alias):
				return nil, fmt.Errorf("host: the alias %.80q of %s must match %s", alias, tool, toolname.Alias())
			case full && known:
				return nil, fmt.Errorf("host: the alias %q of %s is the name that a tool of plugin %q may have; give %s another "+
					"one", alias, tool, plugin, tool)
			case taken && owner != tool:
				return nil, fmt.Errorf("host: %s and %s have the alias %q both; only one of them can be called so", owner, tool,
					alias)
			}
			out[alias], owners[strings.ToLower(alias)] = tool, tool
		}
	}
	return out, nil
}
