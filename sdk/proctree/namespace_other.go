//go:build !linux || proctree_group

package proctree

import "errors"

// Namespaces is nil if the system allows a process namespace to this process, else it
// says why not.
func Namespaces() error { return errNoNamespaces }

var errNoNamespaces = errors.New("only Linux has process namespaces")
