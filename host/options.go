package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// Options of a Host. The zero value works; so does every field's zero value.
type Options struct {
	// Logger receives one line per call, and what plugins log during calls; nil disables it.
	Logger *slog.Logger
	// Workdir is the folder that tools work in, unless a Call names another; "" is the current folder.
	Workdir string
	// Policy decides whether a call may run; with nil the hints of the tools decide: those that only read run, others are
	// asked about.
	Policy Policy
	// Roots are folders outside of the work folder in which tools that are sdk.Tool.PathAware may read.
	Roots []Root
	// WithoutFloor allows commands that would destroy the machine, a home folder or a disk, if the Policy does. Without it
	// they are denied whatever the Policy says.
	WithoutFloor bool
	// Approver is asked about calls that need approval; nil refuses them.
	Approver Approver
	// Mode says what becomes of such calls; "" is ModeAsk.
	Mode Mode
	// ApprovalTimeout is how long an answer may take, from when the Approver is called; zero is ten minutes. The wait for
	// other questions does not count.
	ApprovalTimeout time.Duration
	// OneQuestion limits the Approver to one question at a time, as a terminal needs; the sessions take turns. Otherwise
	// it is called for one question of each session at a time, and many sessions at once.
	OneQuestion bool
	// Input answers the questions that tools ask while their calls run; nil answers none.
	Input InputHandler
	// Audit receives one record per decision and call; nil disables it. A call that may change something is refused when
	// it cannot be recorded.
	Audit Recorder
	// Remembered are approvals that were saved, and SaveAnswer saves one, where people can read and revoke it; nil saves
	// none.
	Remembered []Remembered
	SaveAnswer func(Remembered) error
	// Middleware wraps the chain of a call, the first outermost, before the tool is looked up and the arguments are read:
	// what it changes is checked.
	Middleware []Middleware
	// Tools holds settings by full tool name, such as "shell__exec".
	Tools map[string]ToolOptions
	// Plugins holds settings by the plugins' labels.
	Plugins map[string]PluginOptions
	// Pins says which tools a plugin may have: by the plugin's label and the tool's own name, the hash that Definition
	// returns. Another tool, or one with another definition, is disabled: it is not offered, and a call of it is denied. A
	// plugin that is not in Pins, or has nil there, may have any tools.
	Pins map[string]map[string]string
	// Pinned returns the definition that has a hash of Pins, for errors that say what has changed since. It may be nil,
	// and may return nil: then errors have the hash alone.
	Pinned func(hash string) json.RawMessage
	// MaxCostTier refuses calls of tools that cost more; "" refuses none. A tool without a cost tier counts as Cheap.
	MaxCostTier sdk.CostTier
	// MaxConcurrency is how many calls run at once, of all plugins together; zero is 256. Four times as many wait, as with
	// Limits; more are refused with CodeLimit. From 16 on, one plugin gets at most three quarters of both, so that it does
	// not block the others.
	MaxConcurrency int
	// DefaultTimeout is for tools without a timeout, and for listing a plugin's tools; zero is two minutes.
	DefaultTimeout time.Duration
	// ErrorMessageLimit is how many characters of an error message are kept; zero is 1000. The sentence about an unknown
	// outcome is not counted.
	ErrorMessageLimit int
	// MaxResultBytes is how much text of a result is kept, for tools without a limit; zero is 128 KiB.
	MaxResultBytes int64
	// ResultDir is where results that were cut are kept whole; "" is a new folder in the system's temporary folder.
	// Nothing is removed from it.
	ResultDir string
	// SingleCall is for a host that makes one call and ends, and its plugins with it: tools that are Stateful are not
	// offered, a call of one is refused with CodeNotInCatalog, and sdk.Request.SingleCall is set.
	SingleCall bool
	// Counter keeps the counts of MaxCalls and Rate for the next host; nil counts in this host's memory.
	Counter Counter
	// OnToolsChanged is called with the name of a plugin whose tools may have changed. It must not block.
	OnToolsChanged func(plugin string)
}

// ToolOptions are a user's settings for one tool. They override what the plugin says; zero values do not. No tool may
// take longer than an hour, or have a larger result than 4 MiB.
type ToolOptions struct {
	// Description replaces the plugin's.
	Description    string
	Timeout        time.Duration
	MaxResultBytes int64
	// Aliases are other names that the tool may be called by, such as those of another agent's tools. Catalogs, rules,
	// limits and the record go by the tool's own name. They match ^[A-Za-z_][A-Za-z0-9_-]{0,63}$, and no two tools share
	// one.
	Aliases []string
	Limits
}

// Limits bound the calls of one tool, or of all tools of one plugin together. Zero is no limit. A call over a limit is
// refused with CodeLimit: it never reaches the plugin and does not count as a failure of it.
type Limits struct {
	// Concurrency is how many calls run at once. Others wait for five minutes at most; that time does not count against
	// their timeout. Waiting callers take turns, and one caller's calls run in the order in which they came.
	Concurrency int
	// Queue is how many calls may wait for Concurrency. One more is refused at once; if its caller has fewer waiting than
	// another, that one's last call is refused instead. A plugin's queue counts all that wait for any of its tools. Zero
	// is 16 times Concurrency; below zero, none may wait.
	Queue int
	// Rate is how many calls per second there may be, in the long run; one too early is refused at once.
	Rate float64
	// Burst is how many calls Rate lets through at once after a pause; zero is as many as in one second, at least one.
	Burst int
	// MaxCalls is how many calls each session may make. Calls that were not run do not count. The host counts for the
	// 10,000 sessions that called last.
	MaxCalls int
}

// PluginOptions are a user's settings for one plugin.
type PluginOptions struct {
	Limits
	// IgnoreHints drops what the plugin says of how its tools behave: their hints, category and cost tier.
	IgnoreHints bool
	// TrustForeignHints believes also the hints for which the plugin does not vouch (sdk.Tool.ForeignHints), such as those
	// of an MCP server.
	TrustForeignHints bool
}

// fillIn replaces zero values by their defaults, and makes copies of what the embedder may change later.
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
	o.ApprovalTimeout = firstPositive(o.ApprovalTimeout, defaultApprovalTimeout)
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
	return errors.Join(err, failed, o.Mode.check(), o.checkRoots())
}

// firstPositive returns the first value above zero: settings below count as absent.
func firstPositive[T cmp.Ordered](values ...T) T {
	var zero T
	for _, v := range values {
		if v > zero {
			return v
		}
	}
	return zero
}
