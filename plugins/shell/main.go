// Command toolhost-plugin-shell is a plugin that runs shell commands and scripts together with everything they start, and
// ends all of it with the call, or with the job that a call has started.
package main

import "github.com/toolhost/toolhost/sdk"

func main() { sdk.Serve(newPlugin()) }
