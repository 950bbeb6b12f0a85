package supervise

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/supervise/internal/toolcache"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

// describe asks the plugin for its description. Notices may quote its configuration: values by reference are hidden.
func (g *generation) describe(ctx context.Context) (*sdk.Description, error) {
	d, err := g.client.Describe(ctx)
	if err != nil {
		return nil, err
	}
	hide := g.references.Hider()
	for i := range d.Notices {
		d.Notices[i].Text = hide(d.Notices[i].Text)
	}
	if d.Missing = hide(d.Missing); d.Missing != "" && !slices.ContainsFunc(d.Notices, toolcache.IsProblem) {
		d.Notices = append(d.Notices, sdk.Notice{Kind: sdk.Problem, Text: d.Missing}) // what lists the tools says why
	}
	noticed := len(d.Notices) > 0
	// Probable mistakes of its author that would go unnoticed:
	file, ours := strings.CutPrefix(fsutil.ProgramName(g.program), toolname.ProgramPrefix)
	if ours && d.Name != "" && d.Name != file && !g.renamed {
		d.Notices = append(d.Notices, sdk.Notice{Kind: sdk.Remark, Text: fmt.Sprintf("it calls itself %q, but its "+
			"program is %s%s: users look for its tools under that name", d.Name, toolname.ProgramPrefix, file)})
	}
	if len(d.Tools) == 0 && !d.Dynamic && !noticed {
		d.Notices = append(d.Notices, sdk.Notice{Kind: sdk.Remark, Text: "it has no tools; add some before it serves"})
	}
	return d, nil
}

// configure validates the plugin's configuration against the schema that it publishes, and sends it.
func (g *generation) configure(ctx context.Context, d *sdk.Description, spec Spec, workdir string,
	known *sdk.Description) error {
	config, err := schema.CheckConfig(d.ConfigSchema, spec.Config, spec.References.Config)
	wrong, isWrong := errors.AsType[*schema.Invalid](err)
	switch {
	case errors.Is(err, schema.ErrNoConfig):
		return &invalidError{fmt.Errorf("%w, but %s has a config block for it; remove that", err,
			cmp.Or(spec.Source, "its spec"))}
	case isWrong:
		return &invalidError{&configError{reason: "its configuration is wrong: ", invalid: wrong}}
	case err != nil:
		return &invalidError{err}
	case config == nil:
		return nil
	}
	err = g.client.Configure(ctx, config, workdir, known)
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*sdk.Error](err)
	if ok && ctx.Err() == nil && !e.Retryable && e.Code != sdk.CodeTimeout && e.Code != sdk.CodeCanceled {
		return &invalidError{&configError{reason: "it refused its configuration: ", refusal: e}}
	}
	return fmt.Errorf("configuring it: %w", err)
}

// watchInterval is the least time between two descriptions of a plugin that reports changes without end.
const watchInterval = 200 * time.Millisecond

// maxWatchPause is the longest pause between two watches of a plugin that ends them, or does not describe itself.
const maxWatchPause = time.Minute

// watch asks a dynamic plugin for its description whenever it reports a change. No change is missed where the plugin
// ends the watch, or does not describe itself: both begin again.
func (g *generation) watch(p *Process) {
	ctx, stop := context.WithCancel(context.Background())
	g.stopWatch = stop
	if !g.description().Dynamic {
		return
	}
	// The first report only means that the watch has begun; asking then closes the gap since the description.
	go func() {
		level := slog.LevelWarn // once
		for pause := answerTime; ; pause = min(2*pause, maxWatchPause) {
			watching, again := context.WithCancel(ctx)
			var unanswered error
			err := g.client.Watch(watching, func() {
				asking, cancel := context.WithTimeout(watching, answerTime)
				defer cancel()
				d, err := g.describe(asking)
				if err != nil {
					unanswered = err
					again()
					return
				}
				pause = answerTime
				g.described.Store(d)
				p.storeDescription(g.number, d)
				g.keepTools(asking, d)
				within(watchInterval, ctx.Done())
			})
			again()
			if within(pause, g.done()) || ctx.Err() != nil {
				return
			}
			p.log.Log(ctx, level, "changes of the plugin's tools could not be followed", "error",
				g.references.hideError(cmp.Or(unanswered, err)))
			if level = slog.LevelDebug; status.Code(err) == codes.Unimplemented {
				return
			}
		}
	}()
}

func (g *generation) keep(ctx context.Context, d *sdk.Description) {
	g.cacheEntry.Store(ctx, d)
	g.storedDescription.Store(d)
}

// keepTools is keep for a later description, if listings show that or the one before it without a start, or tools are
// missing in it.
func (g *generation) keepTools(ctx context.Context, d *sdk.Description) {
	kept := g.storedDescription.Load()
	if d.Cacheable || d.Missing != "" || kept != nil && kept.Cacheable {
		g.keep(ctx, d)
	}
}

// lastAnswerTime is how long a plugin that is to end may take to describe itself once more.
const lastAnswerTime = 500 * time.Millisecond

// keepLast keeps what changed a moment before the end, such as in the only call of a host: the watch may not know it.
func (g *generation) keepLast() {
	kept := g.storedDescription.Load()
	if kept == nil || !kept.Cacheable && kept.Missing == "" || isClosed(g.child.programEnded) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastAnswerTime)
	defer cancel()
	if d, err := g.describe(ctx); err == nil && !reflect.DeepEqual(d, g.storedDescription.Load()) {
		g.keepTools(ctx, d)
	}
}

func definition(d *sdk.Description, tool string) *sdk.Tool {
	i := slices.IndexFunc(d.Tools, func(t sdk.Tool) bool { return t.Name == tool })
	if i < 0 {
		return nil
	}
	return &d.Tools[i]
}

// sameDefinition compares all fields. It is part of every call, and allocates nothing.
func sameDefinition(a, b *sdk.Tool) bool {
	if a == nil || b == nil {
		return a == b
	}
	sameHint := func(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && a.Category == b.Category &&
		bytes.Equal(a.InputSchema, b.InputSchema) && bytes.Equal(a.OutputSchema, b.OutputSchema) &&
		sameHint(a.Hints.ReadOnly, b.Hints.ReadOnly) && sameHint(a.Hints.Destructive, b.Hints.Destructive) &&
		sameHint(a.Hints.Idempotent, b.Hints.Idempotent) && sameHint(a.Hints.OpenWorld, b.Hints.OpenWorld) &&
		a.CostTier == b.CostTier && a.Timeout == b.Timeout && a.MaxResultBytes == b.MaxResultBytes &&
		a.OriginalName == b.OriginalName && a.Previews == b.Previews &&
		a.Stateful == b.Stateful && a.ForeignSchema == b.ForeignSchema && a.PathAware == b.PathAware &&
		a.ForeignHints == b.ForeignHints && a.TextIsJSON == b.TextIsJSON && bytes.Equal(a.Extra, b.Extra)
}
