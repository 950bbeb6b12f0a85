// Command toolhost-plugin-discover is a plugin whose tools a project describes itself: one command prints them as JSON,
// another is run for each call. It speaks the protocol of Gemini CLI's discovery and call commands.
package main

import "github.com/toolhost/toolhost/sdk"

func main() { sdk.Serve(newPlugin()) }
