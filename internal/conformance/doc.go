// Package conformance has the tests that run toolhost and MCP programs of others as processes: the official conformance
// suite, clients and servers from npm, servers that are hostile, and a toolhost in front of a toolhost. `make
// conformance` runs all of them; `make test` those that need nothing but Go.
package conformance
