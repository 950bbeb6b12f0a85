//go:build !unix

package main

import (
	"errors"
	"os"
)

// sweeps says that folders that were left can be told from those in use.
const sweeps = false

// takeLock makes the file of a new folder. There are no locks here, so no folder is known to be left behind.
func takeLock(path string, create int) (*os.File, error) {
	if create == 0 {
		return nil, errors.ErrUnsupported
	}
	return os.OpenFile(path, create|os.O_RDWR, 0o600)
}
