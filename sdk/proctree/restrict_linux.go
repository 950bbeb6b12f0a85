//go:build !proctree_group

package proctree

import (
	"errors"

	"github.com/toolhost/toolhost/sdk/proctree/internal/confine"
	"github.com/toolhost/toolhost/sdk/proctree/internal/launcher"
)

// Offered says what this system has to restrict programs with. It asks the kernel each time, and starts nothing; what
// [Namespaces] or a run has found out about fixed files counts.
func Offered() Offer {
	return Offer{Restrictions: true, NoNewPrivileges: confine.NoNewPrivileges(), Landlock: confine.Landlock(), Filters: confine.Seccomp(),
		Fixed: launcher.CanFix() && fixing.get() == nil}
}

// orders are those that the launcher of the program gets.
func (p *program) orders() (launcher.Orders, error) {
	if p.restrict == nil {
		return launcher.Orders{}, nil
	}
	asked := confine.Restrictions(*p.restrict)
	orders, err := asked.Orders()
	if f, ok := errors.AsType[*launcher.Failure](err); ok {
		return orders, p.unrestricted(f.Call, f.Errno)
	}
	return orders, err
}
