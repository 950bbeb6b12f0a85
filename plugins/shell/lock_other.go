//go:build !unix

package main

import (
	"errors"
	"os"
)

// sweeps reports whether abandoned folders can be distinguished from those in use.
const sweeps = false

// takeLock creates the file of a new folder. There are no locks here, so no folder is known to be abandoned.
func takeLock(path string, create int) (*os.File, error) {
	if create == 0 {
		return nil, errors.ErrUnsupported
	}
	return os.OpenFile(path, create|os.O_RDWR, 0o600)
}
