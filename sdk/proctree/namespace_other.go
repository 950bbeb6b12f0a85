//go:build !linux || proctree_group

package proctree

import "fmt"

// Namespaces is nil if the system allows a process namespace to this process, else it
// says why not, in an [ErrNamespace].
func Namespaces() error { return errNoNamespaces }

// NamespacesRefused is what Namespaces says as far as that is known.
func NamespacesRefused() error { return errNoNamespaces }

var errNoNamespaces = fmt.Errorf("%w: only Linux has them", ErrNamespace)
