package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// The lists of a server.
const (
	Tools             = "tools"
	Prompts           = "prompts"
	Resources         = "resources"
	ResourceTemplates = "resourceTemplates"
)

// Limits of a list.
const (
	MaxListItems = 10_000
	maxListPages = 1000
	maxListBytes = 64 << 20
)

// A Listing is a server's list of tools, prompts or resources.
type Listing struct {
	Items []json.RawMessage // byte for byte
	TTL   time.Duration     // how long they stay valid, as the server says; 0 if it does not
	Scope string            // cacheScope: "public", "private" or ""
}

// List returns all pages of one of the server's lists: [Tools], [Prompts], [Resources] or [ResourceTemplates]. With a
// *[ListError] the list is cut at a limit and holds what came before. Items need not be objects, and may be nested to
// any depth.
func (s *Session) List(ctx context.Context, list string) (*Listing, error) {
	method := list + "/list"
	if list == ResourceTemplates {
		method = "resources/templates/list"
	}
	var l Listing
	seen := map[string]bool{}
	for size, cursor := 0, ""; ; {
		var params json.RawMessage
		if cursor != "" {
			params = append(rawjson.AppendText([]byte(`{"cursor":`), cursor), '}')
		}
		text, err := s.request(ctx, &call{method: method, revision: s.Server().Revision}, params)
		if err != nil {
			return nil, err
		}
		next, err := l.add(method, list, text)
		if err != nil {
			return &l, err
		}
		size += len(text)
		switch {
		case next == "":
			return &l, nil
		case seen[next]:
			return &l, &ListError{method, "the pages of the list repeat without end; what came until then is used"}
		case len(seen)+1 >= maxListPages:
			return &l, &ListError{method, fmt.Sprintf("the list has more than %d pages; the rest is left out", maxListPages)}
		case size > maxListBytes:
			return &l, &ListError{method, fmt.Sprintf("the list has more than %d MiB; the rest is left out",
				maxListBytes>>20)}
		}
		seen[next], cursor = true, next
	}
}

// add adds a page and returns the cursor of the next one.
func (l *Listing) add(method, list string, page []byte) (next string, err error) {
	var items []byte
	var ttl float64
	given := false
	for m := rawjson.DeepMembersOf(page); m.Next(); {
		switch string(m.Name) {
		case list:
			items = m.Value
		case "nextCursor":
			_ = json.Unmarshal(m.Value, &next)
		case "ttlMs":
			given = json.Unmarshal(m.Value, &ttl) == nil
		case "cacheScope":
			_ = json.Unmarshal(m.Value, &l.Scope)
		}
	}
	if items == nil {
		return "", &CallError{true, &ProtocolError{method, "the result has no " + list}}
	}
	found, more, err := rawjson.Elements(items, MaxListItems-len(l.Items))
	if err != nil {
		return "", &CallError{true, &ProtocolError{method, list + ": " + err.Error()}}
	}
	l.Items = append(l.Items, found...)
	if more {
		return "", &ListError{method, fmt.Sprintf("the list has more than %d %s; the rest is left out", MaxListItems,
			strings.ToLower(list))}
	}
	const longest = float64(24 * time.Hour / time.Millisecond)
	if d := time.Duration(min(ttl, longest)) * time.Millisecond; given && ttl >= 0 && (l.TTL == 0 || d < l.TTL) {
		l.TTL = d
	}
	return next, nil
}
