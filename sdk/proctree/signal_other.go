//go:build !unix

package proctree

// SignalName is for systems with signals.
func (e Exit) SignalName() string { return "" }
