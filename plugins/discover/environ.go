package main

import "github.com/toolhost/toolhost/sdk/proctree"

// environ is the environment of a project's commands, which run in dir.
func environ(dir string) []string { return append(proctree.Environ(), "PWD="+dir) }
