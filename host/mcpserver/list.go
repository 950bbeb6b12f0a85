package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of a page of the list.
const (
	pageTools = 1000
	pageBytes = 4 << 20
)

// cursorMark begins the cursors of this server, before the name of the last tool.
const cursorMark = "after "

func (e *endpoint) listTools(ctx context.Context, r *request) (mcp.Result, error) {
	encoded := text(r.params.Get("cursor"))
	cursor, err := base64.RawURLEncoding.DecodeString(encoded)
	after, own := strings.CutPrefix(string(cursor), cursorMark)
	if err != nil || !own && encoded != "" {
		return nil, badParams("the cursor %.100q is not one of this server", encoded)
	}
	served, complete := e.catalog.show(ctx)
	begin, _ := slices.BinarySearchFunc(served.listed, after+"\x00", func(d *definition, name string) int {
		return strings.Compare(d.name, name)
	})
	if after == "" {
		begin = 0
	}
	page, end := []byte{'['}, begin
	for _, d := range served.listed[begin:] {
		definition := d.json
		if !r.isModern() {
			definition = d.legacy
		}
		if end > begin && (end-begin >= pageTools || len(page)+len(definition) > pageBytes) {
			break
		}
		if end > begin {
			page = append(page, ',')
		}
		page = append(page, definition...)
		end++
	}
	out := &result{}
	out.body.Add("tools", append(page, ']'))
	if end < len(served.listed) {
		out.body.AddText("nextCursor", base64.RawURLEncoding.EncodeToString([]byte(cursorMark+served.listed[end-1].name)))
	}
	if r.isModern() {
		ttl := 0
		if complete {
			ttl = listTTL
		}
		out.body.Add("ttlMs", json.RawMessage(fmt.Sprint(ttl)))
		out.body.AddText("cacheScope", "private") // identities have lists of their own
	}
	return out.complete(r), nil
}

// listTTL is how long clients may keep the list, in milliseconds; they are notified of changes before.
const listTTL = 60_000
