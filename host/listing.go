package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/sdk"
)

// A listing is what the registry knows of one plugin.
type listing struct {
	name    string
	plugin  Plugin
	log     func() *slog.Logger
	turn    chan struct{} // holds a token while the plugin is being asked
	deaf    bool          // to what the plugin says of how its tools behave
	options map[string]ToolOptions
	pins    pins
	changes *atomic.Uint64 // the host's; counted under mu

	mu   sync.Mutex            // held to change last
	last atomic.Pointer[known] // what the plugin last said
}

// known is what a plugin said of its tools.
type known struct {
	tools    map[string]*Tool // by full name; nil: to be asked
	problems []error          // of tools left out
	forgot   int              // how often the tools were forgotten
	failed   int              // how often the plugin could not say
	failure  error            // the last time
}

func (l *listing) load() known {
	if k := l.last.Load(); k != nil {
		return *k
	}
	return known{}
}

func (l *listing) change(f func(k *known)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.load()
	f(&k)
	l.last.Store(&k)
}

// list gives the plugin's tools, and what is wrong with those left out. Callers who come while the plugin is being asked
// share the answer. A failure is for them alone: later callers ask again.
func (l *listing) list(ctx context.Context) (known, error) {
	seen := l.load()
	if seen.tools != nil {
		return seen, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return known{}, l.ended(ctx)
	}
	now := l.load()
	switch {
	case now.tools != nil:
		return now, nil
	case now.failed > seen.failed:
		return known{}, now.failure
	}
	return l.ask(ctx, now.forgot)
}

// ask has the plugin list its tools.
func (l *listing) ask(ctx context.Context, forgot int) (known, error) {
	defined, err := l.defined(ctx)
	switch {
	case err == nil:
		tools, problems := l.take(defined)
		return l.keep(known{tools: tools, problems: problems, forgot: forgot}), nil
	case ctx.Err() != nil: // for which the plugin can do nothing
		return known{}, l.ended(ctx)
	}
	l.change(func(k *known) { k.failed, k.failure = k.failed+1, err })
	return known{}, err
}

// defined asks the plugin. An error names the plugin and has a code.
func (l *listing) defined(ctx context.Context) (tools []sdk.Tool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(l.log(), cause, "plugin", l.name)
			err = l.unavailable(fmt.Sprintf("it panicked: %v", cause))
		}
	}()
	tools, err = l.plugin.Tools(ctx)
	if _, coded := errors.AsType[*sdk.Error](err); err != nil && !coded {
		err = l.unavailable(err.Error())
	}
	return tools, err
}

func (l *listing) unavailable(why string) error {
	return fail(sdk.CodePluginUnavailable, "NoTools", "plugin %q cannot tell its tools: %s", l.name, why)
}

func (l *listing) ended(ctx context.Context) error {
	e := sdk.EndedError(ctx)
	if e.Code == sdk.CodeCanceled {
		e.Message = fmt.Sprintf("the call was canceled while plugin %q was asked for its tools; nothing was run", l.name)
		return e
	}
	e.Message = fmt.Sprintf("plugin %q did not tell its tools in time; nothing was run", l.name)
	e.Suggestion, e.Retryable = "Try again: the plugin may still be starting.", true
	return e
}

// keep stores an answer, unless it was outdated while it came.
func (l *listing) keep(answer known) known {
	l.change(func(k *known) {
		if k.forgot == answer.forgot {
			k.tools, k.problems = answer.tools, answer.problems
		}
	})
	return answer
}

func (l *listing) forget() {
	l.change(func(k *known) {
		k.tools, k.problems = nil, nil
		k.forgot++
		l.changes.Add(1)
	})
}
