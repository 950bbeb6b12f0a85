package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
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
// any depth. The list of a server that does not know it is empty.
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
		if refused, ok := errors.AsType[*RPCError](err); ok && refused.Code == CodeMethodNotFound {
			return &Listing{}, nil
		}
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

// changeInterval is the least time between two calls of Options.ListChanged for one list.
const changeInterval = 100 * time.Millisecond

// lists are those whose changes servers announce.
var lists = []string{"tools", "prompts", "resources"}

// startAnnouncing starts what calls Options.ListChanged.
func (s *Session) startAnnouncing() {
	if s.options.ListChanged == nil {
		return
	}
	s.changed = map[string]chan struct{}{}
	for _, list := range lists {
		changed := make(chan struct{}, 1)
		s.changed[list] = changed
		go func() {
			for s.awaitChange(changed) {
				s.options.ListChanged(list)
				s.pause(changeInterval)
			}
		}()
	}
}

func (s *Session) awaitChange(changed chan struct{}) bool {
	select {
	case <-changed:
		return s.ctx.Err() == nil
	case <-s.ctx.Done():
		return false
	}
}

// pause waits, or until the session ends.
func (s *Session) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
	}
}

func (s *Session) announce(list string) {
	if s.changed != nil {
		signal(s.changed[list])
	}
}

const (
	// acknowledgeLimit is how long Dial waits for the server to acknowledge a subscription, so that no change after it is
	// missed.
	acknowledgeLimit = time.Second
	firstResubscribe = time.Second
	lastResubscribe  = 5 * time.Minute
)

// listen subscribes to changes of the lists that the server announces.
func (s *Session) listen(ctx context.Context) {
	wanted := map[string]bool{}
	for _, list := range lists {
		if s.options.ListChanged != nil && s.Announces(list) {
			wanted[list+"ListChanged"] = true
		}
	}
	if len(wanted) == 0 {
		return
	}
	ready := make(chan struct{}, 1)
	go s.subscribe(wanted, ready)
	select {
	case <-ready:
	case <-time.After(acknowledgeLimit):
	case <-ctx.Done():
	}
}

// subscribe keeps a subscription. One that the server ends is made again, later each time. What may have changed while
// there was none is announced.
func (s *Session) subscribe(wanted map[string]bool, ready chan<- struct{}) {
	params, _ := json.Marshal(map[string]any{"notifications": wanted})
	deaf := sync.OnceFunc(func() { close(s.deaf) })
	opened := time.Now()
	for wait := firstResubscribe; ; wait = min(2*wait, lastResubscribe) {
		began := time.Now()
		done := make(chan error, 1)
		go func() {
			_, err := s.request(s.ctx, &call{method: "subscriptions/listen", revision: s.Server().Revision}, params)
			done <- err
		}()
		var err error
		select {
		case <-s.acknowledged:
			if time.Since(opened) >= acknowledgeLimit {
				for _, list := range lists {
					if wanted[list+"ListChanged"] {
						s.announce(list)
					}
				}
			}
			signal(ready)
			err = <-done
		case err = <-done:
			if _, exited := errors.AsType[*ExitError](err); !exited && s.Err() == nil {
				deaf()
			}
			signal(ready)
		}
		if _, refused := errors.AsType[*RPCError](err); refused {
			return
		}
		if time.Since(began) > lastResubscribe {
			wait = firstResubscribe
		}
		if s.pause(wait); s.ctx.Err() != nil {
			return
		}
	}
}

// signal leaves a message in a channel with room for one, if there is none yet.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Deaf is closed when the server offers nothing that its announcements could come by.
func (s *Session) Deaf() <-chan struct{} {
	if t, ok := s.transport.(interface{ Deaf() <-chan struct{} }); ok && !s.modern() {
		return t.Deaf()
	}
	return s.deaf
}

// Announces reports whether the server says of one of its lists, such as Tools, that it announces changes.
func (s *Session) Announces(list string) bool {
	select {
	case <-s.Deaf():
		return false
	default:
	}
	var capabilities map[string]struct {
		ListChanged bool `json:"listChanged"`
	}
	_ = json.Unmarshal(s.Server().Capabilities, &capabilities) // what fits is read all the same
	return capabilities[list].ListChanged
}
