package config

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/toolname"
)

// ShippedPlugins are the plugins that come with toolhost. They run supervised by default.
var ShippedPlugins = []string{"discover", "edit", "http", "mcp", "readfile", "shell"}

// mayBeShipped reports whether the plugin may be one of ShippedPlugins. The final check is made when its program is
// found.
func mayBeShipped(name string, command []string) bool {
	if len(command) > 0 {
		program := fsutil.ProgramName(command[0])
		if name = strings.TrimPrefix(program, toolname.ProgramPrefix); name == program {
			return false
		}
	}
	return slices.Contains(ShippedPlugins, name)
}
