//go:build !linux

package placeholder

import "errors"

// HoldLink is for Linux alone, where mounts keep placeholders.
func HoldLink(string, string) (*Placeholder, error) { return nil, errors.ErrUnsupported }

// IsLink reports whether there is a placeholder of HoldLink.
func IsLink(string) bool { return false }

func (p *Placeholder) releaseLink() {}

func removeLeftLink(string) {}
