package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

// Options configure a Host. The zero value works; so does every field's zero value. A panic of a function here is
// logged; what depends on its result fails.
type Options struct {
	// Logger receives one line per call, and the log lines of plugins during calls; nil disables it.
	Logger *slog.Logger
	// Workdir is the folder that tools work in, unless a Call names another; "" is the current folder.
	Workdir string
	// Policy decides whether a call may run; with nil the tools' hints decide: read-only tools run, others need
	// approval.
	Policy Policy
	// Roots are folders outside the work folder in which tools that are sdk.Tool.PathAware may read.
	Roots []Root
	// WithoutFloor lets the Policy allow commands that would destroy the machine, a home folder or a disk. Otherwise
	// they are always denied.
	WithoutFloor bool
	// Approver is asked about calls that need approval; nil refuses them.
	Approver Approver
	// Mode says what happens to such calls; "" is ModeAsk.
	Mode Mode
	// ApprovalTimeout is how long an answer may take after the Approver is called; zero is ten minutes. Time spent
	// waiting for other questions does not count.
	ApprovalTimeout time.Duration
	// OneQuestion calls the Approver for one question at a time, as a terminal needs; the sessions take turns.
	// Otherwise it is called for one question of each session at a time, and for different sessions concurrently.
	OneQuestion bool
	// AllQuestions calls the Approver for all questions at once, also for those of one session: for one that keeps many,
	// such as approvals.Queue. OneQuestion is ignored then.
	AllQuestions bool
	// Input answers the questions that tools ask during their calls; nil answers none.
	Input InputHandler
	// Audit receives one record per decision and call; nil disables it. A call that may change something is refused when
	// it cannot be recorded.
	Audit Recorder
	// Remembered are saved approvals, and SaveAnswer saves one, where people can read and revoke it; nil saves none.
	Remembered []Remembered
	SaveAnswer func(Remembered) error
	// TracerProvider receives a span for each call and for each of its stages, MeterProvider the metrics that
	// docs/observability.md lists; nil makes none, and costs nothing. A provider must not block.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// TraceContent adds arguments and results to spans, as the text that it returns for them, such as without secrets;
	// nil leaves them out.
	TraceContent func(text string) string
	// Middleware wraps the chain of a call, the first outermost, before the tool is looked up and the arguments are
	// read. Its changes are checked.
	Middleware []Middleware
	// Tools holds settings by full tool name, such as "shell__exec".
	Tools map[string]ToolOptions
	// Plugins holds settings by the plugins' labels.
	Plugins map[string]PluginOptions
	// Pins says which tools a plugin may have: by the plugin's label and the tool's own name, the hash that Definition
	// returns. Another tool, or one with another definition, is disabled: it is not offered, and a call of it is
	// denied. A plugin that is not in Pins, or is nil there, may have any tools.
	Pins map[string]map[string]string
	// Pinned returns the definition with a hash of Pins, for errors that say what has changed since. It may be nil, and
	// may return nil: then errors contain the hash alone.
	Pinned func(hash string) json.RawMessage
	// MaxCostTier refuses calls of tools that cost more; "" refuses none. A tool without a cost tier counts as Cheap.
	MaxCostTier sdk.CostTier
	// MaxConcurrency is how many calls run at once, of all plugins together; zero is 256. Four times as many may wait,
	// as with Limits; more are refused with CodeLimit. From 16 on, one plugin gets at most three quarters of both, so
	// that it does not block the others.
	MaxConcurrency int
	// DefaultTimeout is for tools without a timeout, and for listing a plugin's tools; zero is two minutes.
	DefaultTimeout time.Duration
	// ErrorMessageLimit is how many characters of an error message are kept; zero is 1000. The sentence about an
	// unknown outcome is not counted.
	ErrorMessageLimit int
	// MaxResultBytes is how much text of a result is kept, for tools without a limit; zero is 128 KiB.
	MaxResultBytes int64
	// MaxLargeResultBytes is how many bytes the large parts of a result over 4 MiB may have, which the host writes to
	// files as they come; zero is 64 MiB, and 1 GiB the most. Below zero such results are refused.
	MaxLargeResultBytes int64
	// ResultDir is the folder for the full text of results that were cut; "" is a new folder in the system's temporary
	// folder. The host keeps its newest files there, a thousand or 1 GiB, and removes no others.
	ResultDir string
	// SingleCall is for a host that makes one call and ends, and its plugins with it: tools that are Stateful are not
	// offered, a call of one is refused with CodeNotInCatalog, and sdk.Request.SingleCall is set.
	SingleCall bool
	// Counter stores the counts of MaxCalls and Rate for later hosts; nil counts in memory.
	Counter Counter
	// OnToolsChanged is called with the name of a plugin whose tools may have changed. It must not block.
	OnToolsChanged func(plugin string)
}

// ToolOptions are a user's settings for one tool. They override what the plugin declares; zero values do not. No tool
// may take longer than an hour, or have a larger result than 4 MiB.
type ToolOptions struct {
	// Description replaces the plugin's.
	Description string
	// DescriptionFor has descriptions for single models by globs of their names, such as "gemini-*". Of those that match
	// the longest counts. See Catalog.ForModel.
	DescriptionFor map[string]string
	Timeout        time.Duration
	MaxResultBytes int64
	// Aliases are other names that the tool may be called by, such as those of another agent's tools. Catalogs, rules,
	// limits and the record use the tool's own name. They match ^[A-Za-z_][A-Za-z0-9_-]{0,63}$, and no two tools share
	// one.
	Aliases []string
	Limits
}

// Limits bound the calls of one tool, or of all tools of one plugin together. Zero is no limit. A call over a limit
// is refused with CodeLimit: it never reaches the plugin and does not count as a failure of it.
type Limits struct {
	// Concurrency is how many calls run at once. Others wait for at most five minutes, which do not count against their
	// timeout. Waiting callers take turns, and one caller's calls run in the order in which they came.
	Concurrency int
	// Queue is how many calls may wait for Concurrency. A further one is refused at once; if its caller has fewer
	// waiting than another, the last call of that other is refused instead. A plugin's queue counts all calls that wait
	// for any of its tools. Zero is 16 times Concurrency; below zero, none may wait.
	Queue int
	// Rate is how many calls per second are allowed on average; a call that exceeds it is refused at once.
	Rate float64
	// Burst is how many calls Rate lets through at once after a pause; zero is one second's worth, at least one.
	Burst int
	// MaxCalls is how many calls each session may make. Calls that were not run do not count. The host counts for the
	// 10,000 sessions that called last.
	MaxCalls int
}

// PluginOptions are a user's settings for one plugin.
type PluginOptions struct {
	Limits
	// Timeout is for one call of any of the plugin's tools without a timeout in ToolOptions; it overrides the tools' own.
	Timeout time.Duration
	// MayCall are globs of full names of tools that the plugin may call during its own calls, as in Filter.Tools; none by
	// default. Policy, limits and people decide about such calls as about others; see Via.
	MayCall []string
	// Env is what the plugin's environment has besides the usual. The floor takes variables in commands to have these
	// values: a path after one that nothing sets is denied as if it were empty.
	Env map[string]string
	// IgnoreHints drops what the plugin declares of its tools' behavior: their hints, category and cost tier.
	IgnoreHints bool
	// TrustForeignHints also trusts hints that the plugin does not vouch for (sdk.Tool.ForeignHints), such as those of
	// an MCP server.
	TrustForeignHints bool
}

// fillIn replaces zero values by their defaults, and copies what the embedder may change later.
func (o *Options) fillIn() (err error) {
	o.Remembered, o.Middleware = cloneAll(o.Remembered), slices.Clone(o.Middleware)
	o.Tools, o.Plugins, o.Pins = maps.Clone(o.Tools), maps.Clone(o.Plugins), maps.Clone(o.Pins)
	for plugin, tools := range o.Pins {
		o.Pins[plugin] = maps.Clone(tools)
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.DefaultTimeout = firstPositive(o.DefaultTimeout, 2*time.Minute)
	o.MaxConcurrency = firstPositive(o.MaxConcurrency, 256)
	o.ErrorMessageLimit = firstPositive(o.ErrorMessageLimit, 1000)
	o.MaxResultBytes = firstPositive(o.MaxResultBytes, 128<<10)
	o.MaxLargeResultBytes = cmp.Or(o.MaxLargeResultBytes, 64<<20)
	o.ApprovalTimeout = firstPositive(o.ApprovalTimeout, defaultApprovalTimeout)
	log := o.Logger
	if changed := o.OnToolsChanged; changed != nil {
		o.OnToolsChanged = func(plugin string) {
			callback.Run(log, "Options.OnToolsChanged", func() { changed(plugin) })
		}
	}
	o.Pinned = callback.Guarded(log, "Options.Pinned", o.Pinned)
	for i, m := range o.Middleware { // one that panics here fails the calls, like one that returns nil
		o.Middleware[i] = callback.Guarded(log, "Options.Middleware", m)
	}
	o.TraceContent = callback.Guarded(log, "Options.TraceContent", o.TraceContent)
	if o.Policy == nil {
		o.Policy = hintsOnly
	}
	if o.MaxCostTier != "" && !slices.Contains(tiers, o.MaxCostTier) {
		return fmt.Errorf("host: MaxCostTier %q is not one of free, cheap, expensive", o.MaxCostTier)
	}
	if o.ResultDir != "" {
		o.ResultDir, err = filepath.Abs(o.ResultDir)
	}
	workdir, failed := filepath.Abs(o.Workdir)
	o.Workdir = workdir
	return errors.Join(err, failed, o.Mode.check(), o.checkRoots(), o.checkNames())
}

// checkNames refuses what would never match or run.
func (o *Options) checkNames() error {
	var globs []string
	for _, tool := range slices.Sorted(maps.Keys(o.Tools)) {
		if plugin, own, _ := strings.Cut(tool, "__"); plugin == "" || own == "" {
			return fmt.Errorf("host: Options.Tools has %.100q, which is not a full name of a tool: use PLUGIN__TOOL", tool)
		}
		globs = slices.AppendSeq(globs, maps.Keys(o.Tools[tool].DescriptionFor))
	}
	for _, plugin := range o.Plugins {
		globs = append(globs, plugin.MayCall...)
	}
	slices.Sort(globs)
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("host: the glob %.100q of Options.Plugins or Options.Tools is not valid: %w", glob, err)
		}
	}
	if i := slices.IndexFunc(o.Middleware, func(m Middleware) bool { return m == nil }); i >= 0 {
		return fmt.Errorf("host: Options.Middleware[%d] is nil", i)
	}
	return nil
}

// firstPositive returns the first value above zero: values below count as absent.
func firstPositive[T cmp.Ordered](values ...T) T {
	var zero T
	for _, v := range values {
		if v > zero {
			return v
		}
	}
	return zero
}

// newAliases returns the tools by alias. Two tools cannot share an alias, ignoring case, and an alias cannot be a
// possible name of a plugin's tool.
func newAliases(plugins map[string]Plugin, tools map[string]ToolOptions) (map[string]string, error) {
	out, owners := map[string]string{}, map[string]string{}
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		for _, alias := range tools[tool].Aliases {
			plugin, _, full := strings.Cut(strings.ToLower(alias), "__")
			_, known := plugins[plugin]
			owner, taken := owners[strings.ToLower(alias)]
			switch {
			case !toolname.Alias().MatchString(alias):
				return nil, fmt.Errorf("host: the alias %.80q of %s must match %s", alias, tool, toolname.Alias())
			case full && known:
				return nil, fmt.Errorf("host: the alias %q of %s is the name that a tool of plugin %q may have; give %s another "+
					"one", alias, tool, plugin, tool)
			case taken && owner != tool:
				return nil, fmt.Errorf("host: %s and %s have the alias %q both; only one of them can be called so", owner, tool,
					alias)
			}
			out[alias], owners[strings.ToLower(alias)] = tool, tool
		}
	}
	return out, nil
}
