//go:build !linux

package plugincheck

import "os"

// leftBehind is for Linux alone: elsewhere the environment of a process cannot be read.
func leftBehind(string) []*os.Process { return nil }

// stopped is for Linux alone.
func (p *process) stopped() bool { return false }

// A resourceCount has the numbers of what a process holds.
type resourceCount struct{ files, threads, children int }

// resources is for Linux alone.
func resources(int) (resourceCount, bool) { return resourceCount{}, false }
