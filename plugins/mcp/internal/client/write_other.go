//go:build !unix

package client

import "os"

// writeNow has nothing to write without waiting here: all goes through the queue.
func writeNow(*os.File, []byte) (int, error) { return 0, nil }
