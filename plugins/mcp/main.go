// Command toolhost-plugin-mcp is a plugin whose tools are those of an MCP server: a program that it starts, or an
// address.
package main

func main() {}
