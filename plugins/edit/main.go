// Command toolhost-plugin-edit is the plugin that edits and writes files.
package main

import "github.com/toolhost/toolhost/sdk"

func main() { sdk.Serve(newPlugin()) }

func newPlugin() *sdk.Plugin {
	p := sdk.New("edit", "0.1.0")
	e := new(editor)
	sdk.Configure(p, e.configure)
	addReplace(p, e)
	addMulti(p, e)
	addWrite(p, e)
	addUndo(p, e)
	addDiff(p, e)
	return p
}
