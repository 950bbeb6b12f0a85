// Package placeholder puts something in place of files and folders that do not exist, so that these can be kept from
// a plugin. On Windows there is no sandbox to keep them with.
package placeholder

import "errors"

// A Placeholder is held until its Release.
type Placeholder struct{}

// Hold is not supported.
func Hold(string, string) (*Placeholder, error) { return nil, errors.ErrUnsupported }

// Release does nothing.
func (p *Placeholder) Release() {}

// RemoveNoted does nothing: there are none.
func RemoveNoted(string) {}
