package workspace

import (
	"crypto/sha256"
	"encoding/hex"
)

// Etag names what a file holds: the first 12 hex digits of the SHA-256 of its bytes, all of them as they are on disk.
// Tools that read give it, tools that write take it back, and so know whether the file is still the one that was read.
func Etag(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}
