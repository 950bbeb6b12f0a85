package sdk

import (
	"io"
	"os"
)

// lifeline calls end when standard input does, if the host holds the other end of it: the host has closed it, or died.
func lifeline(end func()) {
	if os.Getenv(EnvLifeline) != "stdin" {
		return
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	end()
}
