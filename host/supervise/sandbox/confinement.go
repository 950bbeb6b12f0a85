package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// A Confinement is what was asked for a plugin, and what it has.
type Confinement struct {
	Asked Level `json:"asked"`
	// Got is the highest level, at most Asked, all of whose promises hold.
	Got Level `json:"got"`
	// Missing says what of Asked is not there, and what follows from that.
	Missing []string `json:"missing,omitempty"`
	// ReadOnly are files and folders that it cannot change, though they are in folders that it may write to: what toolhost
	// and others run or obey, such as .git. Some may not be there.
	ReadOnly []string `json:"read_only,omitempty"`
	// Hidden are files that are empty to it, such as the record of calls.
	Hidden []string `json:"hidden,omitempty"`
	// Network says whether the plugin can reach the network.
	Network bool `json:"network"`
	// Wrapper is the wrapper's program, "" for none.
	Wrapper string `json:"wrapper,omitempty"`
}

// On says what the sandbox comes to on a machine. It fails when that is less than the sandbox requires.
func (s Spec) On(m Means) (Confinement, error) {
	c := Confinement{Asked: s.Asked(), Network: s.HasNetwork() || !m.Seccomp}
	if len(s.Wrapper) > 0 {
		c.Wrapper = s.Wrapper[0]
	}
	c.Got = m.reach(c.Asked)
	c.Missing = append(m.lacking(c.Asked, s.HasNetwork()), s.idleLimits(m)...)
	if err := c.Meets(s.Require); err != nil {
		return c, err
	}
	if s.Require != "" && c.Network && !s.HasNetwork() {
		return c, fmt.Errorf("it requires that there be no network, which this machine cannot do: %w", sentences(c.Missing))
	}
	return c, nil
}

// Meets fails when the plugin has less than the level that it requires, "" for none.
func (c Confinement) Meets(require Level) error {
	if require == "" || c.Got.AtLeast(require) {
		return nil
	}
	return fmt.Errorf("it requires the sandbox level %q, but would have %q: %w", require, c.Got, sentences(c.Missing))
}

// idleLimits says which of the limits nobody keeps: the kernel counts root's processes and does not limit them, but for a root
// that is one in a user namespace only, see https://man7.org/linux/man-pages/man2/getrlimit.2.html.
func (s Spec) idleLimits(m Means) []string {
	if s.Limits.Processes == 0 || !m.Stage || os.Geteuid() != 0 {
		return nil
	}
	users, _ := os.ReadFile("/proc/self/uid_map")
	if f := strings.Fields(string(users)); len(f) > 1 && f[1] != "0" {
		return nil
	}
	return []string{"the number of processes is not limited, since the system does not limit root's: run toolhost as an ordinary user"}
}

func sentences(all []string) error {
	var out []error
	for _, s := range all {
		out = append(out, errors.New(s))
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}
