// Command toolhost-plugin-mcp is a plugin whose tools are those of an MCP server: a program that it starts, or an
// address.
package main

import "github.com/toolhost/toolhost/sdk"

const version = "0.1.0"

func main() { sdk.Serve(newBridge().plugin) }
