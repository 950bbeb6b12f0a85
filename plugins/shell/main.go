// Command toolhost-plugin-shell is a plugin with one tool, exec, which runs a shell command together with everything it
// starts, and ends all of it with the call.
package main

import "github.com/toolhost/toolhost/sdk"

func main() { sdk.Serve(newPlugin()) }
