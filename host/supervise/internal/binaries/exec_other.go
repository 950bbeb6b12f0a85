//go:build !linux

package binaries

// waitForWriters is needed on Linux alone.
func waitForWriters(string) {}

// runsPrograms does not know better here.
func runsPrograms(string) bool { return true }
