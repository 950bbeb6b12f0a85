package client

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// reserved begins the names of members of _meta that belong to one hop.
const reserved = "io.modelcontextprotocol/"

// ofOneHop reports members of _meta that are not for the next hop.
func ofOneHop(name []byte) bool {
	return strings.HasPrefix(string(name), reserved) || string(name) == "progressToken"
}

// forNextHop returns an object without the members of its _meta that belong to one hop; all other bytes stay.
func forNextHop(object json.RawMessage) json.RawMessage {
	if !bytes.Contains(object, []byte("modelcontextprotocol")) && !bytes.Contains(object, []byte("progressToken")) {
		return object
	}
	before := 0 // the end of the member before
	for m := rawjson.MembersOf(object); m.Next(); before = m.End {
		if string(m.Name) != "_meta" {
			continue
		}
		start, end := m.Start, m.End
		value := end - len(m.Value)
		kept := keptMeta(m.Value)
		switch {
		case kept != nil:
			return splice(object, value, end, kept)
		case before > 0:
			return splice(object, before, end, nil)
		case m.Next():
			return splice(object, start, m.Start, nil)
		}
		return splice(object, start, end, nil)
	}
	return object
}

func splice(b []byte, from, to int, with []byte) []byte {
	out := make([]byte, 0, len(b)+len(with))
	return append(append(append(out, b[:from]...), with...), b[to:]...)
}

// keptMeta returns the members of a _meta that are for the next hop as an object, nil if there are none.
func keptMeta(meta []byte) []byte {
	var kept []byte
	for m := rawjson.MembersOf(meta); m.Next(); {
		if !ofOneHop(m.Name) {
			kept = append(append(kept, ','), meta[m.Start:m.End]...)
		}
	}
	if kept == nil {
		return nil
	}
	kept[0] = '{'
	return append(kept, '}')
}
