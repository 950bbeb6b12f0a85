package host

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/internal/errorcode"
	"github.com/toolhost/toolhost/sdk"
)

// instruments make spans and metrics. They are the same for all snapshots with the same providers.
type instruments struct {
	tracer                     trace.Tracer // nil makes no spans
	calls, unrecorded          metric.Int64Counter
	duration, stages, recorded metric.Float64Histogram
	stop                       func() // ends what is observed

	mu     sync.Mutex // held to add labels
	labels atomic.Pointer[labels]

	decision, end []metric.RecordOption // of recorded
}

// Limits of the labels of metrics. They outlive tools and plugins: dynamic plugins may name ever new tools.
const (
	maxLabeledTools   = 1000
	maxLabeledPlugins = 300
	unknownLabel      = "unknown" // of calls whose tool is not known; no tool and no plugin has this name
	otherLabel        = "other"   // of tools and plugins after those
)

// labels are those of all tools and plugins that were called. They are replaced as a whole, so that a call reads them
// without a lock.
type labels struct {
	tools   map[string]*toolLabels
	plugins map[string]*pluginLabels
}

// toolLabels are the labels of a tool, made once: to make them for each call costs more than all else here.
type toolLabels struct {
	span     string
	plugin   *pluginLabels
	duration []metric.RecordOption
	name     [2]attribute.KeyValue // of the tool and its plugin
	ok       []metric.AddOption
	failed   atomic.Pointer[map[failedAs][]metric.AddOption]
}

type failedAs struct {
	code    sdk.Code
	outcome sdk.Outcome
}

type pluginLabels struct {
	name   string
	stages [len(stageNames)][]metric.RecordOption
}

// The upper bounds of the histograms' buckets, in seconds.
var (
	callBounds   = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900}
	recordBounds = []float64{.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5, 2.5}
)

const instrumentationScope = "github.com/toolhost/toolhost/host"

// newInstruments returns those of the options, nil without providers, and reuses the ones of old.
func (h *Host) newInstruments(o Options, old *snapshot) (*instruments, error) {
	if old != nil && sameValue(old.options.TracerProvider, o.TracerProvider) &&
		sameValue(old.options.MeterProvider, o.MeterProvider) {
		return old.instruments, nil
	}
	if o.TracerProvider == nil && o.MeterProvider == nil {
		return nil, nil //nolint:nilnil // none
	}
	i := &instruments{stop: func() {}}
	i.labels.Store(&labels{tools: map[string]*toolLabels{}, plugins: map[string]*pluginLabels{}})
	if o.TracerProvider != nil {
		i.tracer = o.TracerProvider.Tracer(instrumentationScope)
	}
	if o.MeterProvider == nil {
		return i, nil
	}
	i.decision = []metric.RecordOption{kindLabel(audit.KindDecision)}
	i.end = []metric.RecordOption{kindLabel(audit.KindCall)}
	return i, i.meter(h, o.MeterProvider.Meter(instrumentationScope))
}

func kindLabel(kind audit.Kind) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("toolhost.record.kind", string(kind))))
}

func (i *instruments) meter(h *Host, m metric.Meter) (err error) {
	if i.calls, err = m.Int64Counter("toolhost.calls", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that have ended, by tool and outcome.")); err != nil {
		return err
	}
	for _, one := range []struct {
		to                *metric.Float64Histogram
		name, description string
		bounds            []float64
	}{
		{&i.duration, "toolhost.call.duration", "How long calls took as a whole, by tool.", callBounds},
		{&i.stages, "toolhost.call.stage.duration", "How long calls were in a stage, by plugin. " +
			"A call that is not in a stage, such as one that need not wait, is not counted.", callBounds},
		{&i.recorded, "toolhost.record.duration", "How long it took to write a line of the record.", recordBounds},
	} {
		*one.to, err = m.Float64Histogram(one.name, metric.WithUnit("s"), metric.WithDescription(one.description),
			metric.WithExplicitBucketBoundaries(one.bounds...))
		if err != nil {
			return err
		}
	}
	if i.unrecorded, err = m.Int64Counter("toolhost.record.failures", metric.WithUnit("{failure}"),
		metric.WithDescription("Lines of the record that could not be written.")); err != nil {
		return err
	}
	i.unrecorded.Add(context.Background(), 0) // so that it is there before the first one
	return i.observe(h, m)
}

// observe registers what is read of the host when someone asks for it.
func (i *instruments) observe(h *Host, m metric.Meter) error {
	var running, waiting, approvals metric.Int64ObservableUpDownCounter
	for _, one := range []struct {
		to                *metric.Int64ObservableUpDownCounter
		name, description string
	}{
		{&running, "toolhost.queue.running", "Calls that have a slot."},
		{&waiting, "toolhost.queue.waiting", "Calls that wait for a slot."},
		{&approvals, "toolhost.approvals.waiting", "Calls that wait for a person's approval."},
	} {
		var err error
		*one.to, err = m.Int64ObservableUpDownCounter(one.name, metric.WithUnit("{call}"),
			metric.WithDescription(one.description))
		if err != nil {
			return err
		}
	}
	registered, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(approvals, h.approving.Load())
		n, w := h.callQueue.Counts()
		o.ObserveInt64(running, int64(n), queueLabel("host"))
		o.ObserveInt64(waiting, int64(w), queueLabel("host"))
		now := h.current.Load()
		if now == nil { // New has not returned yet
			return nil
		}
		for plugin, q := range now.queues {
			n, w := q.Counts()
			o.ObserveInt64(running, int64(n), queueLabel("plugin:"+plugin))
			o.ObserveInt64(waiting, int64(w), queueLabel("plugin:"+plugin))
		}
		return nil
	}, running, waiting, approvals)
	if err != nil {
		return err
	}
	i.stop = func() { _ = registered.Unregister() }
	return nil
}

func queueLabel(name string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("toolhost.queue", name)))
}

// replaceWith ends what is observed when others take over.
func (i *instruments) replaceWith(next *instruments) {
	if i != nil && i != next {
		i.stop()
	}
}

// countRecord counts a line of the record, or the failure to write it.
func (i *instruments) countRecord(kind audit.Kind, took time.Duration, err error) {
	if i.recorded == nil {
		return
	}
	if err != nil {
		i.unrecorded.Add(context.Background(), 1)
		return
	}
	labels := i.end
	if kind == audit.KindDecision {
		labels = i.decision
	}
	i.recorded.Record(context.Background(), took.Seconds(), labels...)
}

// errorLabel is the code, or what the semantic conventions have for any other: a plugin in the host's own process could
// make up ever new ones.
func errorLabel(c sdk.Code) sdk.Code {
	if errorcode.Known(c) {
		return c
	}
	return "_OTHER"
}

var knownOutcomes = map[sdk.Outcome]bool{"": true, sdk.OutcomeNotSent: true, sdk.OutcomeFailed: true,
	sdk.OutcomeUnknown: true}

// unknownTool has the labels of calls whose tool is not known.
var unknownTool = newToolLabels(unknownLabel, newPluginLabels(unknownLabel))

// labelsOf returns the labels of a tool, nil for an unknown one.
func (i *instruments) labelsOf(t *Tool) *toolLabels {
	if t == nil {
		return unknownTool
	}
	if l := i.labels.Load().tools[t.Name]; l != nil {
		return l
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	now := *i.labels.Load()
	of := now.plugin(t.Plugin)
	key, name := t.Name, t.Name
	if len(now.tools) >= maxLabeledTools {
		key, name = otherLabel+" of "+of.name, otherLabel // the same for all such tools of the plugin
	}
	l := now.tools[key]
	if l == nil {
		l = newToolLabels(name, of)
		now.tools = maps.Clone(now.tools)
		now.tools[key] = l
	}
	i.labels.Store(&now)
	return l
}

func (i *instruments) labelsOfPlugin(name string) *pluginLabels {
	if l := i.labels.Load().plugins[name]; l != nil {
		return l
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	now := *i.labels.Load()
	l := now.plugin(name)
	i.labels.Store(&now)
	return l
}

// plugin returns the labels of a plugin, and adds them if there are none yet.
func (l *labels) plugin(name string) *pluginLabels {
	if l.plugins[name] == nil && len(l.plugins) >= maxLabeledPlugins {
		name = otherLabel
	}
	if l.plugins[name] == nil {
		l.plugins = maps.Clone(l.plugins)
		l.plugins[name] = newPluginLabels(name)
	}
	return l.plugins[name]
}

func newToolLabels(tool string, plugin *pluginLabels) *toolLabels {
	name := attribute.String("gen_ai.tool.name", tool)
	of := attribute.String("toolhost.plugin", plugin.name)
	span := "execute_tool"
	if tool != unknownLabel && tool != otherLabel {
		span += " " + tool
	}
	l := &toolLabels{span: span, plugin: plugin, name: [2]attribute.KeyValue{name, of},
		duration: []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(name, of))},
		ok: []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(name, of,
			attribute.String("toolhost.outcome", StatusOK)))}}
	l.failed.Store(&map[failedAs][]metric.AddOption{})
	return l
}

func newPluginLabels(plugin string) *pluginLabels {
	l := &pluginLabels{name: plugin}
	for s, name := range stageNames {
		l.stages[s] = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(
			attribute.String("toolhost.plugin", plugin), attribute.String("toolhost.stage", name)))}
	}
	return l
}

// outcome returns the labels of a call that has ended with e, or without an error.
func (l *toolLabels) outcome(e *sdk.Error) []metric.AddOption {
	if e == nil {
		return l.ok
	}
	as := failedAs{errorLabel(e.Code), e.Outcome}
	if !knownOutcomes[as.outcome] {
		as.outcome = sdk.OutcomeUnknown
	}
	for {
		all := l.failed.Load()
		if out := (*all)[as]; out != nil {
			return out
		}
		next := maps.Clone(*all)
		next[as] = []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(l.name[0], l.name[1],
			attribute.String("toolhost.outcome", string(as.outcome)), attribute.String("error.type", string(as.code))))}
		l.failed.CompareAndSwap(all, &next)
	}
}
