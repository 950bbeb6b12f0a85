// Command toolhost-plugin-readfile is the plugin that reads files and lists directories. It changes nothing.
package main

import "github.com/toolhost/toolhost/sdk"

func main() { sdk.Serve(newPlugin()) }

func newPlugin() *sdk.Plugin {
	p, c := sdk.New("readfile", "0.1.0"), newConfig()
	sdk.Configure(p, c.set)
	addRead(p, c)
	addList(p, c)
	addGlob(p, c)
	addGrep(p, c)
	return p
}

var readOnly = sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No, Idempotent: sdk.Yes, OpenWorld: sdk.No}
