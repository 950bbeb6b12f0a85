//go:build unix && !linux

package binaries

// closedByAll is for systems that do not run a file that is open for writing.
func closedByAll(string) {}

// runsPrograms says whether programs in the folder can be run, as far as is known.
func runsPrograms(string) bool { return true }
