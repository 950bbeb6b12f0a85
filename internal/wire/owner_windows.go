//go:build !toolhost_wine

package wire

import "time"

const (
	// acceptUnknown accepts a peer whose process the system does not report.
	acceptUnknown = false
	// ownerTime is how long a TCP connection may take to belong to a process: until its other end is accepted it may
	// belong to none.
	ownerTime = 2 * time.Second
)
