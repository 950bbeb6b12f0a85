package sandbox

import "slices"

// A Level says how far a plugin is kept from the rest of the machine.
type Level string

// The levels. Each of the first three has what the one before it has.
const (
	// Supervised: a launcher that ends what it started, no terminal, a short environment, limits, a private TMPDIR, no new
	// privileges.
	Supervised Level = "supervised"
	// Confined: it can write to its folders only, and cannot signal or trace processes outside. What it can still do is
	// change modes and times of its user's files, and ask services such as D-Bus or docker for things by their Unix sockets;
	// these a Spec keeps from it whose Network is false.
	Confined Level = "confined"
	// Isolated: it can read only what it needs, and has no network.
	Isolated Level = "isolated"
	// Container: Supervised, and a wrapper of the user's around it, which says what else it is kept from. It cannot be asked
	// for but by a wrapper.
	Container Level = "container"
	// None: not even Supervised. It cannot be asked for; systems without the means have nothing better.
	None Level = "none"
)

// knownLevels are those that can be asked for, from the loosest.
var knownLevels = []Level{Supervised, Confined, Isolated}

// AtLeast says whether all that the other level holds is known to hold at this one. Nobody knows what a wrapper does.
func (l Level) AtLeast(other Level) bool { return l.rank() >= other.rank() }

func (l Level) rank() int {
	if l == Container {
		return 0
	}
	return slices.Index(knownLevels, l) // -1 for None and ""
}
