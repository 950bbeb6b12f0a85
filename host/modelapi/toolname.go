package modelapi

import "strings"

// A toolName is the name of a tool as it comes: in pieces that follow each other ("read", "file"), or again and again
// with what is known so far ("re", "read", "readfile").
//
// Pieces of which each begins with the one before are taken for the second kind: a name that is said twice is more
// common than one that is itself twice. Known names decide first.
type toolName struct {
	sum, last string
	mixed     bool // a piece did not begin with the one before
}

func (n *toolName) add(piece string) {
	if piece == "" {
		return
	}
	n.mixed = n.mixed || !strings.HasPrefix(piece, n.last)
	n.sum, n.last = n.sum+piece, piece
}

func (n *toolName) in(known map[string]bool) string {
	first, second := n.last, n.sum
	if n.mixed {
		first, second = second, first
	}
	if known[second] && !known[first] {
		return second
	}
	return first
}
