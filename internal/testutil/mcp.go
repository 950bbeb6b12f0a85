// Package testutil has what tests of several packages need.
package testutil

import (
	"os"
	"path/filepath"
	"testing"
)

// An NPM is a folder in which .ci/need-mcp installed MCP programs, with a Node that runs all of them.
type NPM struct{ Dir, Node string }

// MCP returns the folder that TOOLHOST_TEST_MCP_DIR names. Without it the test is skipped, or fails where
// TOOLHOST_TEST_MCP is "required".
func MCP(t testing.TB) NPM {
	t.Helper()
	dir := os.Getenv("TOOLHOST_TEST_MCP_DIR")
	_, err := os.Stat(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "sdk"))
	switch required := os.Getenv("TOOLHOST_TEST_MCP") == "required"; {
	case dir != "" && err != nil:
		t.Fatalf("TOOLHOST_TEST_MCP_DIR is not what .ci/need-mcp makes: %v", err)
	case dir == "" && required:
		t.Fatal("TOOLHOST_TEST_MCP_DIR is not set, and the MCP programs from npm are required; `make conformance` sets it")
	case dir == "":
		t.Skip("needs MCP programs from npm; `make conformance` installs them and runs this test")
	}
	node := filepath.Join(dir, "node_modules", ".bin", "node") // not on every system
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	return NPM{Dir: dir, Node: node}
}

// Module returns the path of an installed package, and of a file in it.
func (n NPM) Module(name ...string) string {
	return filepath.Join(append([]string{n.Dir, "node_modules"}, name...)...)
}

// Server returns the command of one of the reference servers, such as "everything" or "filesystem".
func (n NPM) Server(name string, args ...string) []string {
	return append([]string{n.Node, n.Module("@modelcontextprotocol", "server-"+name, "dist", "index.js")}, args...)
}
