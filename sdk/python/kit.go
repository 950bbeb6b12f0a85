// Package python has the files of the kit for Python, for programs that write new plugins.
package python

import "embed"

// Kit is what a plugin needs to use the kit without a package registry.
//
//go:embed toolhost/*.py toolhost/plugin.desc LICENSE
var Kit embed.FS
