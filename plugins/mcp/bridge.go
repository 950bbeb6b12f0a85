package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/elicit"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A bridge offers the tools of one configured server. The server is connected to when the tools are not known, or a
// tool is called.
type bridge struct {
	plugin *sdk.Plugin
	ctx    context.Context // ends with the plugin
	end    context.CancelFunc

	*settings // set by configure

	upstreams upstreams
	suspended elicit.Waiting[*suspension]
	leastTTL  time.Duration
	emptyTime time.Duration

	mu      sync.Mutex
	catalog *catalog // what the server last listed, or what an earlier start did; nil when nothing is known
	trouble string   // why the server cannot be used now, for the operator
	missing string   // likewise, for callers of tools that are not known
	pending bool     // the server may be usable soon
	learned string   // of the server: its revision and who it says it is; "" when nothing is known
	shown   []sdk.BoundTool
	notices []sdk.Notice
}

func newBridge() *bridge {
	b := &bridge{plugin: sdk.New("mcp", version), leastTTL: leastTTL, emptyTime: emptyTime}
	b.ctx, b.end = context.WithCancel(context.Background())
	b.upstreams = upstreams{bridge: b, all: map[string]*upstream{}}
	b.plugin.Dynamic()
	b.plugin.AtEnd(b.close)
	sdk.Configure(b.plugin, b.configure)
	return b
}

// close ends the connections. A process that does not end in time is killed when the plugin ends.
func (b *bridge) close() {
	b.end()
	b.upstreams.close()
}

// configure offers the tools of an earlier start, if they are known. Otherwise it asks the server for them, and returns
// without them if that takes too long for the host: they come later.
func (b *bridge) configure(ctx context.Context, r *sdk.Request, c config) (err error) {
	if reflect.DeepEqual(c, config{}) { // found in a folder of plugins, and not configured
		b.plugin.Cacheable(true)
		return b.plugin.SetTools(nil)
	}
	if b.settings, err = c.settings(r.Workdir); err != nil {
		return err
	}
	if r.KnownTools != nil {
		b.learned = r.Remembered
		b.plugin.Remember(b.learned)
		b.setCatalog(b.recalled(r.KnownTools))
		return nil
	}
	first := make(chan struct{})
	go b.discover(sync.OnceFunc(func() { close(first) }))
	select {
	case <-first:
	case <-time.After(proctree.LimitsFor(ctx, b.connectTimeout).Run):
		b.expect(false, "%s is still starting; its tools appear when it is ready, at most %s after its start. A first "+
			"start that downloads a program takes long: start_timeout in the plugin's block makes listings wait for it too",
			b.who(), b.connectTimeout)
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// expect says why there are no tools that may come soon, unless some are known, or it is known why there are none.
// The server has answered by now, or has not yet.
func (b *bridge) expect(answered bool, format string, a ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.catalog == nil && (answered || b.trouble == "") {
		b.trouble, b.pending = fmt.Sprintf(format, a...), true
		b.missing = b.trouble
		b.show()
	}
}

// recalled is the catalog of tools that the plugin reported before.
func (b *bridge) recalled(tools []sdk.Tool) *catalog {
	c, own := &catalog{}, b.ownNames()
	for _, t := range tools {
		if slices.Contains(own, t.Name) {
			continue
		}
		t.Timeout = 0 // the operator's, which timed adds
		d := &definition{Tool: t, original: t.Name}
		if t.OriginalName != "" {
			d.original = t.OriginalName
		}
		d.headers, _ = paramHeaders(t.InputSchema) // those of a tool that is offered have no error
		c.tools = append(c.tools, d)
	}
	return c
}

// expected is the revision that the server agreed on before, "" if that is not known.
func (b *bridge) expected() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	revision, _, _ := strings.Cut(b.learned, " ")
	return revision
}

// learn keeps the revision of a session for the next start. It forgets it after a failure, of which session is nil, and
// when the server is another one than before: that may speak a newer revision, and is asked for it next time.
func (b *bridge) learn(session *client.Session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.learned
	if b.learned = ""; session != nil {
		info := session.Server()
		b.learned = fmt.Sprintf("%s %.1000s", info.Revision, info.Info)
	}
	if _, who, known := strings.Cut(before, " "); known && !strings.HasSuffix(b.learned, " "+who) {
		b.learned = ""
	}
	b.plugin.Remember(b.learned)
}

// Times between two attempts to find the tools of a server of which nothing is known.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// discover connects to the server until its tools are known. It calls tried after each attempt.
func (b *bridge) discover(tried func()) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		u, err := b.upstreams.use(b.workdir)
		if err == nil {
			_, err = u.connected(b.ctx, nil)
			u.release()
		}
		if err != nil && b.ctx.Err() == nil {
			if e, ok := errors.AsType[*notConnectedError](err); ok {
				err = e.err
			}
			b.setTrouble(fmt.Sprintf("no tools: %v; it is tried again within a minute%s", err, advice(err)),
				err.Error()+advice(err))
		}
		tried()
		if err == nil || !pause(b.ctx, wait) {
			return
		}
	}
}

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// wake leaves a message in a channel with room for one, if there is none yet.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (b *bridge) setCatalog(c *catalog) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.catalog, b.trouble, b.missing = c, "", ""
	b.show()
}

// setTrouble says why the server cannot be used, which no one expects to end soon, to the operator and to callers of
// tools that are not known. Tools that are known stay.
func (b *bridge) setTrouble(trouble, missing string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trouble, b.missing, b.pending = trouble, missing, false
	b.show()
}

// show gives the plugin its tools and notices, if they have changed, and says whether tools are missing. It is called
// with mu held.
func (b *bridge) show() {
	if b.catalog == nil {
		b.plugin.MissingTools(b.missing, b.pending)
	} else {
		defer b.plugin.MissingTools("", false)
	}
	var tools []sdk.BoundTool
	var notices []sdk.Notice
	if b.trouble != "" {
		notices = append(notices, sdk.Notice{Kind: sdk.Problem, Text: b.trouble})
	}
	if b.catalog != nil {
		for _, d := range b.catalog.tools {
			bound := sdk.BoundTool{Tool: d.Tool, Handler: b.handler(d)}
			bound.Timeout = b.timeout // the operator's limit
			tools = append(tools, bound)
		}
		tools = append(tools, b.ownTools()...)
		notices = append(notices, sdk.Remarks(b.catalog.notices...)...)
	}
	same := func(a, b sdk.BoundTool) bool { return reflect.DeepEqual(a.Tool, b.Tool) }
	if b.notices != nil && slices.Equal(notices, b.notices) && slices.EqualFunc(tools, b.shown, same) {
		return
	}
	b.plugin.Cacheable(len(tools) > 0)                           // one that has none may have some the next time
	if err := b.plugin.SetTools(tools, notices...); err != nil { // a bug: the catalog has checked them
		b.plugin.Cacheable(false)
		_ = b.plugin.SetTools(nil, sdk.Notice{Kind: sdk.Problem, Text: fmt.Sprintf("no tools: %v", err)})
	}
	b.shown, b.notices = tools, append([]sdk.Notice{}, notices...)
}

// errClosed is the error of calls that the end of the plugin ends.
var errClosed = errors.New("the plugin is ending")
