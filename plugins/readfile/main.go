// Command toolhost-plugin-readfile is the plugin that reads files and lists directories. It changes nothing.
package main

import "github.com/toolhost/toolhost/sdk"

func main() { sdk.Serve(newPlugin()) }

func newPlugin() *sdk.Plugin {
	p := sdk.New("readfile", "0.1.0")
	addRead(p)
	addList(p)
	return p
}

var readOnly = sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No, Idempotent: sdk.Yes, OpenWorld: sdk.No}
