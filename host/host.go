// Package host runs the tool calls of an agent. It knows the plugins, finds the tool that a call names, checks the
// arguments, asks the policy and people, runs the call, and always returns a Result that a model can act on.
//
// A Host comes from a configuration file with bootstrap.Open, or from plugins with New. A Catalog has the tools that
// one agent sees; its Call runs one of them, CallAll the calls of one turn of a model:
//
//	catalog, err := h.Catalog(host.Filter{})
//	tools, problems := catalog.Tools(ctx)
//	result := catalog.Call(ctx, host.Call{Tool: "files__read", Arguments: json.RawMessage(`{"path": "go.mod"}`)})
//
// It does not know how plugins run. Package supervise runs them as processes, InProcess in the program that embeds the
// host, package sdktest in the memory of a test.
package host

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/internal/queue"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/sdk"
)

// A Plugin is a running set of tools. *supervise.Process implements it. Its methods may be called concurrently, and
// return soon after their context ends: the host waits for them, also past a deadline. It may also be a Watcher, an
// Awaiter, a Previewer and a CheckCache.
type Plugin interface {
	// Tools returns the definitions of its tools.
	Tools(ctx context.Context) ([]sdk.Tool, error)
	// Call runs one tool. A tool that fails returns a result with an Error; an error of Call is an *sdk.Error with a
	// code. Its Name is "ListedOtherwise" when the tool's definition is not the one in r.Listed, so that the call did
	// not run: the host then relists the plugin. Of a plugin with a method LeavesArguments, r.Arguments are the host's
	// own: it does not change them.
	Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error)
	// Close ends the plugin.
	Close() error
}

// A Watcher is a Plugin that reports changes of its tools. Watch calls changed each time and returns when ctx ends.
type Watcher interface {
	Watch(ctx context.Context, changed func()) error
}

// An Awaiter is a Plugin whose tools may come late, such as those of a server that is still starting. AwaitTools waits
// as long as missing tools are expected soon, and calls waiting with the reason. The error says why tools are missing
// still; nil, that none are. The host calls it before it answers that a tool does not exist.
type Awaiter interface {
	AwaitTools(ctx context.Context, waiting func(why string)) error
}

// A CheckCache is a Plugin that caches, across hosts, which tool definitions passed the checks, so that listing them
// checks nothing and compiles no schema; the first call of a tool does. Checked reports whether SetChecked was called
// with the same tools, by a program with the same checks.
type CheckCache interface {
	Checked(tools []sdk.Tool) bool
	SetChecked(tools []sdk.Tool)
}

// A Host runs tool calls. Make one with New; it is safe for concurrent use.
type Host struct {
	current   atomic.Pointer[snapshot]
	approvals approvals
	asking    questions
	callQueue *queue.Queue // of all plugins together
	sessions  sessions
	misses    missCounter
	runPrefix string                 // of RunIDs, new for each host
	runs      atomic.Uint64          // calls of plugins
	ballast   atomic.Pointer[[]byte] // see ballast
	changes   atomic.Uint64          // counts changes of any plugin's tools
	approving atomic.Int64           // calls that wait for an approval

	reloading sync.Mutex
	mu        sync.Mutex // held to begin a call, to change the snapshot, and to end base
	base      context.Context
	end       context.CancelFunc
	close     func() error   // once
	running   sync.WaitGroup // calls and watches
	contexts  map[*callctx.Context]struct{}
	watches   map[string]watch // by plugin
}

// New returns a host with the plugins, by their labels. Plugins that can start lazily are not started.
func New(plugins map[string]Plugin, o Options) (*Host, error) {
	if err := o.fillIn(); err != nil {
		return nil, err
	}
	h := &Host{approvals: approvals{all: o.Remembered}, asking: questions{queues: map[questionScope]*questionQueue{}},
		sessions: sessions{byID: map[sessionID]*list.Element{}}, watches: map[string]watch{},
		contexts: map[*callctx.Context]struct{}{}, runPrefix: newID(),
		callQueue: queue.New("the host", "the host, for plugin")}
	first, err := h.newSnapshot(plugins, o, nil)
	if err != nil {
		return nil, err
	}
	h.base, h.end = context.WithCancel(context.Background())
	h.close = sync.OnceValue(h.closeAll)
	h.change(first)
	return h, nil
}

// Call runs one tool and always returns a result: failures are in its Error. It returns soon after ctx ends.
func (h *Host) Call(ctx context.Context, c Call) *Result {
	c.copyArguments()
	return h.call(ctx, c, nil, nil)
}

// call runs a call whose arguments are not shared. It may be one of a batch, or part of another call.
func (h *Host) call(ctx context.Context, c Call, item *batchItem, n *nesting) *Result {
	now := h.current.Load()
	own := now.prepare(c)
	own.item, own.nested = item, n
	result, err := now.chain(ctx, own)
	return now.finish(own, result, err)
}

// Tools returns every tool of every plugin by full name, except those that the policy denies in any case, and errors
// for plugins and tools that are left out. It lists the plugins that are not listed yet, concurrently, which starts
// them. The tools belong to the host: do not change them.
func (h *Host) Tools(ctx context.Context) ([]*Tool, []error) {
	tools, problems, _ := h.current.Load().registry.all(ctx, nil)
	return tools, problems
}

// A snapshot is a configuration snapshot: plugins, options, and the chain made of them, which are in use until the
// next Reload. It never changes, and a call uses one at a time.
type snapshot struct {
	*Host
	options          Options
	log              *slog.Logger
	registry         *registry
	aliases          map[string]string // full names of tools by alias
	results          *resultStore
	queues           map[string]*queue.Queue // by plugin; only of those with limits
	chain            CallFunc
	chainFromNested  CallFunc // the chain of a call whose snapshot was replaced before it ran
	chainFromRefresh CallFunc // the chain of a call whose arguments a person has changed
	checkArgs        CallFunc // the part of it that checks the arguments

	instruments *instruments // nil without telemetry
}

// newSnapshot prepares a snapshot that reuses the unchanged parts of old, which is nil for the first. Nothing takes
// effect before Host.change.
func (h *Host) newSnapshot(plugins map[string]Plugin, o Options, old *snapshot) (*snapshot, error) {
	r, err := h.newRegistry(plugins, o, old)
	if err != nil {
		return nil, err
	}
	n := &snapshot{Host: h, options: o, log: o.Logger, registry: r, results: &resultStore{dir: o.ResultDir}}
	if old != nil && old.options.ResultDir == o.ResultDir {
		n.results = old.results
	}
	if n.aliases, err = newAliases(plugins, o.Tools); err != nil {
		return nil, err
	}
	r.hides = n.hides
	if n.instruments, err = h.newInstruments(o, old); err != nil {
		return nil, fmt.Errorf("host: making metrics: %w", err)
	}
	n.buildChain()
	if old == nil || !sameValue(old.options.Audit, o.Audit) {
		h.watchRecord(o.Audit)
	}
	return n, nil
}

// prepare begins a call. It allocates the call and its state at once.
func (h *snapshot) prepare(given Call) *Call {
	begun := &struct {
		call  Call
		state callState
	}{call: given}
	c, s := &begun.call, &begun.state
	h.fillIn(c)
	c.Definition, c.Decision, c.callState = nil, policy.Decision{}, s
	s.snapshot, s.id, s.called, s.began = h, c.ID, c.Tool, time.Now()
	if tool, ok := h.aliases[c.Tool]; ok {
		c.Tool = tool
	}
	return c
}

// fillIn gives a call an ID and a work folder if it has none.
func (h *snapshot) fillIn(c *Call) {
	if c.ID == "" {
		c.ID = newID()
	}
	c.Workdir = cmp.Or(c.Workdir, h.options.Workdir)
}

// finish makes the result of a call, and reports its final status.
func (h *snapshot) finish(c *Call, r *sdk.Result, err error) *Result {
	out := &Result{CallID: c.id, Tool: c.called, Status: StatusOK, Error: failure(r, err), Duration: c.took}
	if out.Error != nil {
		out.Status = StatusError
	}
	if r != nil {
		out.Content, out.Structured, out.Truncated, out.Extra = r.Content, r.Structured, r.Truncated, r.Extra
		out.KeptFiles = c.keptFiles
	}
	if r != nil && r.InputRequired != nil && out.Error == nil {
		out.Status, out.InputRequired = StatusInputRequired, r.InputRequired
	}
	if t := c.recorded().Definition; t != nil {
		out.Plugin = t.Plugin
	}
	out.Attempts, out.Generation = c.attempts()
	c.recorded().setFinalStatus(h.log, out.Error)
	return out
}

// accept refuses calls after Close, and has Close cancel the running ones.
func (h *Host) accept(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		own := &c.running
		own.Init(ctx, time.Time{})
		if !h.begin(own) {
			return nil, fail(sdk.CodeCanceled, "HostClosed", "the host is closed; nothing was run")
		}
		defer h.endCall(own)
		return next(own, c)
	}
}

func (h *Host) begin(c *callctx.Context) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.base.Err() != nil {
		return false
	}
	h.running.Add(1)
	h.contexts[c] = struct{}{}
	return true
}

// endCall also ends what was derived from the call's context.
func (h *Host) endCall(c *callctx.Context) {
	c.Cancel()
	h.mu.Lock()
	delete(h.contexts, c)
	h.mu.Unlock()
	h.running.Done()
}

const closeGrace = 5 * time.Second // how long Close waits for canceled calls to return

// Close refuses further calls, cancels the running ones, and then closes all plugins. It waits at most five seconds
// for calls to return. Closing again waits for the same end, and returns the same error.
func (h *Host) Close() error { return h.close() }

func (h *Host) closeAll() error {
	h.mu.Lock()
	h.end()
	for c := range h.contexts {
		c.Cancel()
	}
	h.mu.Unlock()
	defer h.current.Load().instruments.replaceWith(nil)
	ended := make(chan struct{})
	go func() { h.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(closeGrace):
		h.logger().Warn("closing the host while calls run on, though their context has ended")
	}
	return h.current.Load().registry.close()
}

func (h *Host) logger() *slog.Logger { return h.current.Load().log }
