package supervise

import (
	"cmp"
	"fmt"
)

// own are the folders that plugins are kept from: sockets, temporary files, and what is run or believed the next time.
func (s *Supervisor) own() (dirs []string) {
	dirs = []string{s.dir.path, s.temps.path, cmp.Or(s.vault.wanted, cachedPrograms())}
	if s.cache != nil {
		dirs = append(dirs, s.cache.shelf.dir)
	}
	return dirs
}

// exposed takes note of a folder of ours that a confined plugin may write to all the same: it could reach other plugins by
// it, and have its own programs run in the place of theirs.
func (s *Supervisor) exposed(box Sandbox, f folders, c *Confinement) error {
	if c.Got.rank() < Confined.rank() {
		return nil
	}
	for _, own := range s.own() {
		for _, folder := range box.writable(f) {
			if own != "" && within(resolved(own), resolved(folder)) {
				c.Got = Supervised
				c.Missing = append(c.Missing, fmt.Sprintf("it can write to %s, and so to what toolhost keeps in %s; name less with write, or work in a folder below", folder, own))
			}
		}
	}
	if c.Got.rank() < box.Require.rank() {
		return fmt.Errorf("it requires the sandbox level %q: %w", box.Require, sentences(c.Missing))
	}
	return nil
}
