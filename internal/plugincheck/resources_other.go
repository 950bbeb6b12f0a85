//go:build !linux

package plugincheck

// A resourceCount has the numbers of what a process holds.
type resourceCount struct{ files, threads, children int }

// resources is for Linux alone.
func resources(int) (resourceCount, bool) { return resourceCount{}, false }
