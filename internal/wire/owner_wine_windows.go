//go:build toolhost_wine

package wire

import "time"

// Wine 8 does not tell which process has accepted a TCP connection. A program with this build tag is for tests alone:
// the host takes any process that answers for the plugin.
const (
	acceptUnknown = true
	ownerTime     = 20 * time.Millisecond
)
