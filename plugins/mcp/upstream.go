package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/toolhost/toolhost/internal/loopback"
	"github.com/toolhost/toolhost/internal/nesting"
	"github.com/toolhost/toolhost/internal/programpath"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/plugins/mcp/internal/httptransport"
	"github.com/toolhost/toolhost/plugins/mcp/internal/oauth"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// An upstream is the connection to a server for the callers of one work folder, which the server receives as its
// root: callers of different folders never share a process. It is made when it is needed, by one attempt for all who
// wait, and again after its end.
type upstream struct {
	bridge  *bridge
	workdir string

	mu        sync.Mutex
	session   *client.Session        // nil when there is none
	tools     map[string]*definition // of the session, by the server's names
	attempt   *attempt               // that runs
	failures  int                    // in a row
	retryAt   time.Time              // when the next attempt may begin
	failure   error                  // of the last attempt
	expiry    *time.Timer            // of the list, when the server says how long it is valid
	left      chan struct{}          // closed, and replaced, when a call ends
	running   []*runningCall         // in the order in which they began
	waiting   []*waitingCall         // in the order in which they came
	canceled  map[caller]time.Time   // when a call of the session last was, by its caller
	takeTurns bool                   // a question could have been for several callers
	users     int                    // calls; those of upstreams.mu
	used      time.Time              // last; likewise

	completed completedVisits

	relisting sync.Mutex // held to list again
}

// An attempt is one try to connect.
type attempt struct {
	done    chan struct{}
	session *client.Session
	err     error
	began   time.Time
	changed chan struct{} // the list of tools has changed since it was asked for; has room for one
}

// upstreams are those of a bridge.
type upstreams struct {
	bridge *bridge
	mu     sync.Mutex
	all    map[string]*upstream // by work folder
	closed bool
}

// maxUpstreams is how many work folders one server serves at a time.
const maxUpstreams = 8

// use returns the upstream of a work folder, for one call until its release. The one that was used longest ago is
// closed when there are too many.
func (s *upstreams) use(workdir string) (*upstream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	u := s.all[workdir]
	if u == nil {
		if err := s.makeRoom(); err != nil {
			return nil, err
		}
		u = &upstream{bridge: s.bridge, workdir: workdir, left: make(chan struct{}),
			completed: completedVisits{news: make(chan struct{})}}
		s.all[workdir] = u
	}
	u.users++
	u.used = time.Now()
	return u, nil
}

func (u *upstream) release() {
	s := &u.bridge.upstreams
	s.mu.Lock()
	defer s.mu.Unlock()
	u.users--
	u.used = time.Now()
}

// makeRoom closes an upstream that no call uses, if there are too many; never that of the host's work folder.
func (s *upstreams) makeRoom() error {
	if len(s.all) < maxUpstreams {
		return nil
	}
	var oldest *upstream
	for workdir, u := range s.all {
		if u.users == 0 && workdir != s.bridge.workdir && (oldest == nil || u.used.Before(oldest.used)) {
			oldest = u
		}
	}
	if oldest == nil {
		return &sdk.Error{Name: "ServerBusy", Retryable: true, Message: fmt.Sprintf(
			"%s serves calls in %d work folders at this moment; the limit is %[2]d", s.bridge.who(), maxUpstreams),
			Suggestion: "Make the call again when calls in other folders have ended."}
	}
	delete(s.all, oldest.workdir)
	go oldest.close()
	return nil
}

// close ends all connections, at the same time.
func (s *upstreams) close() {
	s.mu.Lock()
	all := s.all
	s.all, s.closed = nil, true
	s.mu.Unlock()
	var wait sync.WaitGroup
	for _, u := range all {
		wait.Go(u.close)
	}
	wait.Wait()
}

func (u *upstream) close() {
	u.mu.Lock()
	session := u.session
	u.session = nil
	if u.expiry != nil {
		u.expiry.Stop()
	}
	u.mu.Unlock()
	if session != nil {
		_ = session.Close()
	}
}

// stillStarting is how often callers that wait for a server are notified.
const stillStarting = 2 * time.Second

// connected returns the session, and connects if there is none. While it waits it reports to waiting, which may be nil.
// The error says when the next attempt may be made.
func (u *upstream) connected(ctx context.Context, waiting func(time.Duration)) (*client.Session, error) {
	session, a, err := u.begin()
	if a == nil {
		return session, err
	}
	tick := time.NewTicker(stillStarting)
	defer tick.Stop()
	for {
		select {
		case <-a.done:
			return a.session, a.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
			if waiting != nil {
				waiting(time.Since(a.began))
			}
		}
	}
}

// begin returns the session, or the attempt to wait for, or why there is none now.
func (u *upstream) begin() (*client.Session, *attempt, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.session != nil && u.session.Err() == nil {
		return u.session, nil, nil
	}
	if u.session != nil {
		ended := u.session
		go func() { _ = ended.Close() }() // frees what it holds
		u.session = nil
	}
	switch {
	case u.attempt != nil:
	case u.bridge.ctx.Err() != nil:
		return nil, nil, errClosed
	case time.Now().Before(u.retryAt):
		return nil, nil, &notConnectedError{u.failure, time.Until(u.retryAt)}
	default:
		u.attempt = &attempt{done: make(chan struct{}), began: time.Now(), changed: make(chan struct{}, 1)}
		go u.connect(u.attempt)
	}
	return nil, u.attempt, nil
}

// A notConnectedError says why there is no connection.
type notConnectedError struct {
	err   error
	retry time.Duration // after which the next call tries again
}

func (e *notConnectedError) Error() string {
	text := e.err.Error()
	if e.retry > 0 {
		text += fmt.Sprintf(" (the next attempt is made by the first call in %s)", max(e.retry, time.Second).
			Round(time.Second))
	}
	return text
}

func (e *notConnectedError) Unwrap() error { return e.err }

// connect makes an attempt: it connects, and lists the tools. A server that has none and announces changes counts as
// one that is still starting, until its time is over.
func (u *upstream) connect(a *attempt) {
	ctx, cancel := context.WithTimeoutCause(u.bridge.ctx, u.bridge.connectTimeout,
		fmt.Errorf("it has not answered within %s (connect_timeout)", u.bridge.connectTimeout))
	defer cancel()
	session, c, err := u.dial(ctx, a)
	if err != nil && ctx.Err() != nil {
		err = timedOut(context.Cause(ctx), err)
	}
	u.mu.Lock()
	u.attempt = nil
	if err == nil {
		u.session, u.failures, u.failure = session, 0, nil
		u.canceled = nil // what the session before was asked cannot lead to a question of this one
		u.adopt(c)
	} else {
		u.failures++
		if _, named := errors.AsType[*sdk.Error](err); !named {
			err = fmt.Errorf("%s cannot be used: %w", u.bridge.who(), err)
		}
		u.failure = err
		retry := backoff(u.failures)
		if e, ok := errors.AsType[*sdk.Error](err); ok && e.Name == oauth.LoginRequired {
			retry = 0 // the login may be there any moment, and does not disturb the server
		}
		u.retryAt = time.Now().Add(retry)
		err = &notConnectedError{u.failure, retry}
	}
	u.mu.Unlock()
	switch {
	case err != nil:
		u.report()
	case u.primary():
		u.bridge.setCatalog(c)
	}
	if err == nil {
		u.relistAfter(session, c.ttl)
		select {
		case <-a.changed:
			go u.relist(session, announced)
		default:
		}
	}
	if u.bridge.ctx.Err() != nil { // close may not have seen the session
		u.close()
	}
	a.session, a.err = session, err
	close(a.done)
}

// timedOut adds to the end of the time what the server said until then.
func timedOut(cause, err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cause) {
		if _, rest, found := strings.Cut(err.Error(), client.Lost); found {
			return fmt.Errorf("%w%s%s", cause, client.Lost, rest)
		}
		if at := strings.LastIndex(err.Error(), "; its last lines"); at >= 0 {
			return fmt.Errorf("%w%s", cause, err.Error()[at:])
		}
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// backoff is how long after so many failed attempts calls fail at once.
func backoff(failures int) time.Duration {
	if failures <= 1 {
		return 0 // what was wrong may have been put right
	}
	return min(time.Second<<min(failures-2, 6), time.Minute)
}

// report logs a failed attempt. Tools that are known stay.
func (u *upstream) report() {
	if !u.primary() || u.bridge.ctx.Err() != nil {
		return
	}
	u.bridge.mu.Lock()
	known := u.bridge.catalog != nil
	u.bridge.mu.Unlock()
	if known { // for a server that never answered, discover reports it
		u.bridge.setTrouble(fmt.Sprintf("its tools are those of before: %v; the next call tries again%s", u.failure,
			advice(u.failure)), "")
	}
}

// primary reports whether the connection is that of the host's own work folder, whose list counts.
func (u *upstream) primary() bool { return u.workdir == u.bridge.workdir }

// discoverHTTP is how long a server at an address may take to answer server/discover. One that does not know it refuses
// it; silence means that it is slow, not that it is old.
const discoverHTTP = 10 * time.Second

func (u *upstream) dial(ctx context.Context, a *attempt) (*client.Session, *catalog, error) {
	var discover time.Duration
	if u.bridge.url != nil {
		discover = discoverHTTP
	}
	session, err := client.Dial(ctx, u.bridge.opener(u.workdir), client.Options{
		Name: "toolhost", Version: version, Capabilities: sessionCapabilities, Revision: u.bridge.protocol,
		Expected:        u.bridge.expected(),
		DiscoverTimeout: discover,
		ListChanged:     u.listChanged, Request: u.answer, Log: u.log, Completed: u.completed.add,
		Warn: func(text string) { slog.Warn(u.bridge.who() + ": " + text) },
	})
	u.bridge.learn(session)
	if err != nil {
		return nil, nil, err
	}
	c, err := u.list(ctx, session)
	if err == nil && c.empty && session.Announces(client.Tools) {
		c, err = u.awaitTools(ctx, session, a, c)
	}
	if err != nil {
		_ = session.Close()
		return nil, nil, err
	}
	return session, c, nil
}

// log passes on a log message of the server that belongs to no call.
func (u *upstream) log(m client.LogMessage) {
	slog.Log(u.bridge.ctx, levels[m.Level], u.bridge.who()+": "+textutil.Cut(logEvent(m).Message, maxFault))
}

// list asks the server for its tools. A server without tools may have resources or prompts.
func (u *upstream) list(ctx context.Context, session *client.Session) (*catalog, error) {
	listing, err := session.List(ctx, client.Tools)
	cut, isCut := errors.AsType[*client.ListError](err)
	if err != nil && !isCut {
		return nil, fmt.Errorf("it does not list its tools: %w", err)
	}
	c := readCatalog(listing.Items, u.bridge.choice, u.bridge.ownNames())
	c.ttl = listing.TTL
	if isCut {
		c.notices = append([]string{cut.Error()}, c.notices...)
	}
	if c.empty = len(listing.Items) == 0 && len(u.bridge.ownNames()) == 0; c.empty {
		c.notices = append(c.notices, u.bridge.who()+" has no tools")
	}
	return c, nil
}

// adopt keeps the definitions of the session. It is called with mu held.
func (u *upstream) adopt(c *catalog) {
	u.tools = make(map[string]*definition, len(c.tools))
	for _, d := range c.tools {
		u.tools[d.original] = d
	}
}

// current is the session's definition of a tool, nil if it has none.
func (u *upstream) current(original string) *definition {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tools[original]
}

// opener connects to the server for callers of a work folder.
func (s *settings) opener(workdir string) client.OpenFunc {
	return func(ctx context.Context) (client.Transport, error) {
		if s.url != nil {
			o := httptransport.Options{URL: s.url.String(), Header: s.header(ctx), LegacySSE: s.transport == "sse",
				StreamableOnly: s.transport == "http", ProxyFromEnvironment: true}
			if s.tokens != nil {
				o.Authorizer = s.tokens
			}
			return httptransport.New(o)
		}
		return s.openCommand(ctx, workdir)
	}
}

// header returns the headers of requests. A server of this machine is told of the hosts above; others are not.
func (s *settings) header(ctx context.Context) http.Header {
	limit := 2 * time.Second
	if proxy, _ := httpproxy.FromEnvironment().ProxyFunc()(s.url); proxy != nil {
		limit = 200 * time.Millisecond // it finds what this machine may not; a name of this machine is found at once
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	words := nesting.Words()
	if words == "" || !loopback.IsOwn(ctx, s.url.Hostname(), net.DefaultResolver.LookupNetIP) {
		return s.headers
	}
	out := s.headers.Clone()
	out.Set(nesting.Header, words)
	return out
}

// openCommand starts the server's program. It gets the environment of the plugin, which the host has bounded, and the
// variables of the configuration; and its folder in the PATH, since programs such as npx run others beside them.
func (s *settings) openCommand(ctx context.Context, workdir string) (client.Transport, error) {
	dir := cmp.Or(s.cwd, workdir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the folder %s, in which it starts, does not exist or is not a folder", dir)
	}
	env := append(nesting.Starting(proctree.Environ()), "PWD="+dir)
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	program, err := programpath.Find(s.command[0], env)
	if err != nil {
		return nil, fmt.Errorf("%w. Fix: install it, or write its whole path in command", err)
	}
	c := &client.Command{Path: program.Path, Args: s.command[1:], Dir: dir, Env: append(env, "PATH="+program.PATH),
		Stderr: func(line string) { fmt.Fprintln(os.Stderr, line) }} // the host logs it with the plugin's own
	return c.Open(ctx)
}
