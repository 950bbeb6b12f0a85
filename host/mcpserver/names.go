package mcpserver

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name of a tool that model vendors accept, with the prefix that clients put before it.
const maxName = 64

// A naming gives tools the names that clients see.
type naming struct {
	plain bool // the tool's own name, without the plugin
	room  int  // the longest name
}

// newNaming leaves room for the prefix mcp__SERVER__ that many clients put before a name.
func newNaming(server string, plain bool) naming {
	return naming{plain, max(minRoom, maxName-len("mcp__"+server+"__"))}
}

// minRoom is the least room that long server names leave: a readable part and the hash.
const minRoom = 24

// served returns the name for a tool's full name, PLUGIN__TOOL. It depends on that name alone, so that no other tool
// changes it. A name that would be too long ends in a short hash of the whole one.
func (n naming) served(full string) string {
	name := full
	if _, own, ok := strings.Cut(full, "__"); n.plain && ok {
		name = own
	}
	if len(name) <= n.room {
		return name
	}
	sum := sha256.Sum256([]byte(full))
	return strings.TrimRight(name[:n.room-9], "_-") + "_" + hex.EncodeToString(sum[:4])
}
