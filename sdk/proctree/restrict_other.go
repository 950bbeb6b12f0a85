//go:build !linux || proctree_group

package proctree

// Offered says what this system has to restrict programs with: nothing.
func Offered() Offer { return Offer{} }
