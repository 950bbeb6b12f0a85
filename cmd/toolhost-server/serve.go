package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/approvals"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/history"
	"github.com/toolhost/toolhost/host/history/historyservice"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/server"
	"github.com/toolhost/toolhost/host/server/configured"
	"github.com/toolhost/toolhost/host/server/console"
	"github.com/toolhost/toolhost/host/telemetry"
)

// A program is one run of toolhost-server.
type program struct {
	settings
	path     string // of this program, where a newer one may be installed
	log      *slog.Logger
	place    *hostPlace
	stop     context.CancelFunc
	stopping atomic.Pointer[time.Duration] // how long calls may take to end, if a client said it

	instance  *bootstrap.Instance
	calls     *server.Calls
	questions *approvals.Queue
	services  *configured.Services
	server    *server.Server
	mcp       *mcpserver.Server
	clients   mcpClients
	history   *history.Index // nil without a record
	telemetry *telemetry.Telemetry

	// What the configuration says in blocks that a reload may change:
	reloading    sync.Mutex
	served       *config.Serve                           // at the start
	waiting      string                                  // the last log line about changes of it
	limitChanged chan struct{}                           // has a token after a reload, for a new idle_timeout
	exports      struct{ used, logged config.Telemetry } // in use; of the last log line about it
	targets      []config.Notify                         // of the notifier in use
	notifier     atomic.Pointer[approvals.Notifier]
}

// A startError is why this program does not begin to serve.
type startError struct{ error }

// Unwrap is the reason.
func (e *startError) Unwrap() error { return e.error }

// serve opens the configuration and serves it until ctx ends, a client asks it to stop, or it has been idle for long.
func serve(ctx context.Context, o settings, log *slog.Logger, stdout io.Writer) (err error) {
	p := &program{settings: o, log: log, limitChanged: make(chan struct{}, 1)}
	serves := false
	defer func() {
		if err != nil && !serves {
			err = &startError{err}
		}
	}()
	given, err := inherit()
	if err != nil {
		return err
	}
	if p.path, err = os.Executable(); err != nil {
		return err
	}
	ctx, p.stop = context.WithCancel(ctx)
	defer p.stop()
	c, err := bootstrap.Load(p.options())
	if err != nil {
		return err
	}
	if p.place, err = takePlace(o, given, c, log); err != nil {
		return err
	}
	defer p.place.release()
	defer p.endTelemetry()
	p.history = p.openHistory(ctx, c) // before plugins start, for which its files are masked
	defer p.followHistory(ctx)()
	if err := p.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.instance.Close()) }()
	unobserve, err := p.telemetry.Observe(p.instance)
	if err != nil {
		return err
	}
	defer unobserve()
	if err := p.openMCP(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.mcp.Close()) }()
	p.setTargets()
	defer func() { p.notifier.Load().Close() }()
	if p.server, err = server.New(p.serverOptions()); err != nil {
		return err
	}
	context.AfterFunc(p.server.Stopping(), p.mcp.EndStreams)
	context.AfterFunc(p.server.Stopping(), func() { p.place.report(local.Stops) })
	context.AfterFunc(p.server.Stopping(), p.questions.Stop) // whoever would answer is no longer served
	if p.place.listeners, err = p.listen(ctx, given); err != nil {
		return err
	}
	go p.services.Watch(p.server.Stopping())
	go p.endWhenIdle(ctx)
	go p.place.maintain(p.server.Stopping())
	go p.signals(ctx)
	if given == nil {
		p.announce(stdout)
	}
	serves = true
	p.place.report(local.Serves)
	p.ready()
	return p.server.Serve(ctx, p.drainTime, p.place.listeners...)
}

// options are those of the configuration, without what belongs to a running host.
func (p *program) options() bootstrap.Options {
	return bootstrap.Options{Config: p.config, TrustNamed: !p.checkTrust, Workdir: p.workdir, Profile: p.profile,
		DefaultDir: bootstrap.ShippedFolder(), Installed: true, Logger: p.log}
}

// open opens the configuration.
func (p *program) open(ctx context.Context) error {
	redacted := func(text string) string { return p.instance.Redact(text) } // no call begins before it is there
	p.calls = server.NewCalls(redacted)
	o := p.options()
	p.services = configured.New(configured.Options{Load: o, Logger: p.log, Reloaded: p.reloaded, Usage: telemetry.Usage})
	o.Middleware, o.OnState = []host.Middleware{p.calls.Middleware}, p.services.OnState
	o.Telemetry, o.OnToolsChanged = p.startTelemetry(ctx), p.toolsChanged
	p.questions = approvals.New(approvals.Options{Notify: func(q *approvals.Question) {
		if n := p.notifier.Load(); n != nil {
			n.Notify(q)
		}
	}})
	p.clients.queue = p.questions
	o.Approver, o.Input, o.AllQuestions = &p.clients, &p.clients, true
	var err error
	if p.instance, err = bootstrap.Open(ctx, o); err != nil {
		return err
	}
	p.served = p.block()
	p.services.Use(p.instance)
	return nil
}

// reloaded applies what a reload has changed of the serve block, and logs what waits for the next start.
func (p *program) reloaded() {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	if err := p.server.SetTokens(p.tokens()); err != nil {
		p.log.Error("tokens of the configuration let no one in", "error", err)
	}
	p.toolsChanged("") // by the current profile
	p.setTargets()
	select {
	case p.limitChanged <- struct{}{}:
	default:
	}
	p.logTelemetryChange()
	p.logWaitingChanges()
}

func (p *program) serverOptions() server.Options {
	o := server.Options{Backend: p.instance, Calls: p.calls, Version: version, Info: p.info, Logger: p.log,
		Tokens: p.tokens(), Hosts: p.block().Hosts, Console: console.New(),
		Plugins: p.services.Plugins(), Policy: p.services.Policy(), Configuration: p.services.Configuration(),
		Metrics: p.telemetry.Handler(), MCP: p.mcp.Handler(),
		Approvals:    server.NewApprovals(p.questions, p.instance, bootstrap.RevokeAnswer),
		Predecessors: p.place.predecessors, Upgrade: p.upgrade, Stop: func(drain *time.Duration) {
			p.place.report(local.Stops)
			p.stopping.Store(drain)
			p.stop()
		}}
	if p.history != nil {
		o.History = historyservice.New(p.history, historyservice.Options{
			Recent: p.calls.Describe, // a running host knows more of recent calls than the record
			Fail: func(code connect.Code, message, hint string) *connect.Error {
				return server.Fail(code, "", message, hint)
			}})
	}
	return o
}

// block is the serve block of the configuration in use.
func (p *program) block() *config.Serve { return cmp.Or(p.instance.Config().Serve, &config.Serve{}) }

// tokens are the user's own and those of the configuration that have a value.
func (p *program) tokens() []server.Token {
	all := []server.Token{{Value: p.place.token, Role: server.Operator}}
	for _, t := range p.block().Tokens {
		if t.Value == "" {
			p.log.Warn("a token has no value, and lets no one in", "token", t.Name, "place", t.Source)
			continue
		}
		all = append(all, server.Token{Name: t.Name, Value: t.Value, Role: server.Role(t.Role)})
	}
	return all
}

// info is what the API says of the configuration.
func (p *program) info() *apiv1.GetInfoResponse {
	c := p.instance.Config()
	workdir, _ := filepath.Abs(p.workdir) // fails only where there is no current folder
	out := &apiv1.GetInfoResponse{Configuration: convert.Text(c.Path), Workdir: convert.Text(workdir),
		Profile: convert.Text(p.profile), Trusted: p.instance.Trusted(), Mode: string(cmp.Or(c.Host.Mode, host.ModeAsk)),
		ReloadFailure: p.services.ReloadFailure()}
	for _, err := range p.instance.Plugins().Problems {
		out.Problems = append(out.Problems, convert.Text(err.Error()))
	}
	if changes := p.waitingChanges(); changes != "" {
		out.Problems = append(out.Problems, convert.Text(changes))
	}
	return out
}

// drainTime is how long running calls may take to end.
func (p *program) drainTime() time.Duration {
	if asked := p.stopping.Load(); asked != nil {
		return *asked
	}
	return p.drain
}
