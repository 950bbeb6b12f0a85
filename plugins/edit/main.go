// Command toolhost-plugin-edit is the plugin that changes files: a part of one, or all of it.
package main

import "github.com/toolhost/toolhost/sdk"

func main() { sdk.Serve(newPlugin()) }

func newPlugin() *sdk.Plugin {
	p := sdk.New("edit", "0.1.0")
	files := new(locks)
	addReplace(p, files)
	addWrite(p, files)
	return p
}
