// Command toolhost-plugin-mcp is a plugin whose tools are those of an MCP server: a program that it starts, or an
// address.
package main

import (
	"os"

	"github.com/toolhost/toolhost/sdk"
)

const version = "0.1.0"

func main() {
	if len(os.Args) > 1 {
		os.Exit(account(os.Args[1], os.Stdin, os.Stdout, os.Stderr))
	}
	sdk.Serve(newBridge().plugin)
}
