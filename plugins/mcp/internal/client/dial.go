package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// An OpenFunc opens a connection to a server. Its context limits the opening, not the connection.
type OpenFunc func(ctx context.Context) (Transport, error)

// Dial opens a connection and agrees with the server on a protocol revision. It asks with server/discover first; a
// server that does not understand that, or is silent, gets an initialize request. If the connection ends instead, Dial
// opens another one and begins with initialize. The context limits Dial, not the session; after an error nothing is
// left open.
func Dial(ctx context.Context, open OpenFunc, o Options) (*Session, error) {
	if o.Revision != "" && !slices.Contains(revisions, o.Revision) {
		return nil, fmt.Errorf("%q is not a protocol revision that this client speaks; use one of %q", o.Revision, revisions)
	}
	if o.Revision == "" && o.Expected != "" && o.Expected < Revision20260728 {
		handshake := o
		handshake.Revision = Revision20251125
		s, ended, err := connect(ctx, open, &handshake)
		if err == nil || ended || ctx.Err() != nil {
			return s, err
		}
	}
	s, ended, err := connect(ctx, open, &o)
	if ended && o.Revision == "" && ctx.Err() == nil {
		again := o
		again.Revision = Revision20251125
		s, _, err = connect(ctx, open, &again)
	}
	return s, err
}

// revisions are those of the protocol that this client speaks.
var revisions = []string{Revision20260728, Revision20251125, Revision20250618, Revision20250326, Revision20241105}

// draft20241007 is what servers from before the first revision answer, which differs from it in no request that is made
// here.
const draft20241007 = "2024-10-07"

// connect opens a connection and negotiates over it. After an error it closes the connection, and reports whether that
// had ended before.
func connect(ctx context.Context, open OpenFunc, o *Options) (s *Session, ended bool, err error) {
	s, err = start(ctx, open, o)
	if err != nil {
		return nil, false, err
	}
	if err = s.negotiate(ctx); err == nil {
		return s, false, nil
	}
	_, ended = errors.AsType[*ExitError](err) // which a request may meet before the session ends; it has the last lines
	ended = ended || s.Err() != nil
	if junk := s.Junk(); ended && junk != "" { // the last lines of standard error end the error
		err = fmt.Errorf("%w\n%s", err, strings.TrimPrefix(junk, ". "))
	} else {
		err = fmt.Errorf("%w%s", err, junk)
	}
	if t, ok := s.transport.(interface{ LastLines() string }); ok && !ended && t.LastLines() != "" {
		err = fmt.Errorf("%w; its last lines on standard error:\n%s", err, t.LastLines())
	}
	_ = s.Close()
	return nil, ended, err
}

const (
	discoverTimeout = 3 * time.Second
	// lateDiscovery is how long an answer to server/discover may follow one to initialize.
	lateDiscovery = time.Second
)

// negotiate agrees on a revision. A slow server may read both requests, and answer both; the answer to initialize
// counts unless it is an error.
func (s *Session) negotiate(ctx context.Context) error {
	pinned := s.options.Revision
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var found chan discovery
	if pinned == "" || pinned == Revision20260728 {
		found = make(chan discovery, 1)
		go func() { found <- s.discover(ctx) }()
		var silent <-chan time.Time
		if pinned == "" {
			silent = time.After(cmp.Or(s.options.DiscoverTimeout, discoverTimeout))
		}
		select {
		case d := <-found:
			if d.err == nil || pinned != "" || s.Err() != nil || ctx.Err() != nil {
				return s.adopt(ctx, d)
			}
			found = nil
		case <-silent:
		}
	}
	err := s.initialize(ctx, cmp.Or(pinned, Revision20251125))
	if err == nil || found == nil || ctx.Err() != nil {
		return err
	}
	select {
	case d := <-found:
		if d.err == nil {
			return s.adopt(ctx, d)
		}
	case <-time.After(lateDiscovery):
	}
	return err
}

// A discovery is the answer to server/discover.
type discovery struct {
	ServerInfo
	err error
}

func (s *Session) discover(ctx context.Context) (d discovery) {
	ask := func() (json.RawMessage, error) {
		return s.request(ctx, &call{method: "server/discover", revision: Revision20260728}, nil)
	}
	text, err := ask()
	if refusedOnce(err) {
		text, err = ask()
	}
	if err != nil {
		d.err = err
		return d
	}
	var r struct {
		Supported    []string        `json:"supportedVersions"`
		Capabilities json.RawMessage `json:"capabilities"`
		Info         json.RawMessage `json:"serverInfo"`
		Meta         struct {
			Info json.RawMessage `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	switch err := json.Unmarshal(text, &r); {
	case err != nil:
		d.err = fmt.Errorf("the answer to server/discover cannot be read: %w", err)
	case !slices.Contains(r.Supported, Revision20260728):
		d.err = fmt.Errorf("the server speaks protocol revisions %q, and not %s", r.Supported, Revision20260728)
	}
	if r.Info == nil {
		r.Info = r.Meta.Info
	}
	d.ServerInfo = ServerInfo{Revision20260728, orEmpty(r.Capabilities), r.Info}
	return d
}

// refusedOnce reports whether a server refused the revision and names it among those that it speaks, as one of several
// servers behind an address may.
func refusedOnce(err error) bool {
	e, ok := errors.AsType[*RPCError](err)
	if !ok || e.Code != CodeUnsupportedVersion {
		return false
	}
	var data struct {
		Supported []string `json:"supported"`
	}
	return json.Unmarshal(e.Data, &data) == nil && slices.Contains(data.Supported, Revision20260728)
}

// adopt begins a session without a handshake.
func (s *Session) adopt(ctx context.Context, d discovery) error {
	if d.err != nil {
		return d.err
	}
	s.server.Store(&d.ServerInfo)
	s.listen(ctx)
	return nil
}

// initialize begins a session with a handshake.
func (s *Session) initialize(ctx context.Context, revision string) error {
	params := rawjson.AppendText([]byte(`{"protocolVersion":`), revision)
	params = append(append(params, `,"capabilities":`...), orEmpty(s.options.Capabilities)...)
	params = append(append(params, `,"clientInfo":`...), s.options.clientInfo()...)
	text, err := s.request(ctx, &call{method: "initialize"}, append(params, '}'))
	if err != nil {
		return err
	}
	var r struct {
		Revision     string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
		Info         json.RawMessage `json:"serverInfo"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("the answer to initialize cannot be read: %w", err)
	}
	switch {
	case !slices.Contains(revisions[1:], r.Revision) && r.Revision != draft20241007:
		return fmt.Errorf("the server wants protocol revision %q; this client speaks %q", r.Revision, revisions)
	case s.options.Revision != "" && r.Revision != s.options.Revision && s.options.Revision != Revision20251125:
		return fmt.Errorf("the server wants protocol revision %q instead of %q, to which it is pinned", r.Revision,
			s.options.Revision)
	}
	s.server.Store(&ServerInfo{r.Revision, orEmpty(r.Capabilities), r.Info})
	return s.transport.Send(ctx, &Message{JSON: json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/initialized"}`),
		Method: "notifications/initialized", Version: r.Revision})
}
