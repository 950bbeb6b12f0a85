// Package node has the files of the kit for Node, for programs that write new plugins.
package node

import "embed"

// Kit is what a plugin needs to use the kit without a package registry.
//
//go:embed index.js index.d.ts server.js proto.js package.json LICENSE
var Kit embed.FS
