// Command toolhost-plugin-mcp is a plugin whose tools are those of an MCP server: a program that it starts, or an
// address.
package main

import (
	"os"
	"runtime"

	"github.com/toolhost/toolhost/sdk"
)

const version = "0.1.0"

func main() {
	if len(os.Args) > 1 {
		os.Exit(account(os.Args[1], os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv("GOMAXPROCS") == "" {
		// What the plugin does for a call is little, and done by one goroutine after another. On one processor they hand it
		// on without waking a thread for each step, which takes a quarter off the processor time of a small call (measured).
		runtime.GOMAXPROCS(1)
	}
	sdk.Serve(newBridge().plugin)
}
