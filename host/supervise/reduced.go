package supervise

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/textutil"
)

// A Reduction is one reason why plugins run at a lower sandbox level than requested.
type Reduction struct {
	Requested, Effective sandbox.Level
	Missing              string // a sentence of Confinement.Missing; "" if there is none
	// Plugins are those with this reason: first the one that was started, then those that will have it once they start.
	Plugins []string
}

// Error says which plugins run at which level, and why.
func (r Reduction) Error() string {
	request, run := "requests", "runs"
	if len(r.Plugins) > 1 {
		request, run = "request", "run"
	}
	return fmt.Sprintf("%s %s the sandbox level %q, but %s at %q: %s", NamePlugins(r.Plugins), request, r.Requested, run,
		r.Effective, r.Missing)
}

const maxNamed = 8 // how many plugins a sentence names

// NamePlugins is the subject of a sentence about plugins. It names eight of them at most, and counts the others.
func NamePlugins(names []string) string {
	if len(names) == 1 {
		return fmt.Sprintf("plugin %q", names[0])
	}
	shown := make([]string, 0, maxNamed+1)
	for i, name := range names {
		if more := len(names) - i; i == maxNamed && more > 1 {
			shown = append(shown, textutil.Count(more, "other"))
			break
		}
		shown = append(shown, fmt.Sprintf("%q", name))
	}
	return "plugins " + textutil.List(shown, "and")
}

// reductions are the reasons that were reported, with the plugins of each.
type reductions struct {
	mu       sync.Mutex // also held during a report, so that parallel starts with the same reason wait for it
	reported map[reductionKey][]string
}

type reductionKey struct {
	requested, effective sandbox.Level
	missing              string
}

// reportReduced reports why a plugin that was launched runs at a lower level than requested, unless an earlier report
// of the same reason has named it.
func (s *Supervisor) reportReduced(spec Spec, got sandbox.Confinement) {
	if got.Effective == got.Requested {
		return
	}
	missing := got.Missing
	if len(missing) == 0 {
		missing = []string{""}
	}
	s.reductions.mu.Lock()
	defer s.reductions.mu.Unlock()
	for _, m := range missing {
		key := reductionKey{got.Requested, got.Effective, m}
		known := s.reductions.reported[key]
		if slices.Contains(known, spec.Name) {
			continue
		}
		plugins := []string{spec.Name}
		for _, p := range s.Processes() {
			if p.name != spec.Name && !slices.Contains(known, p.name) && s.sharesReduction(spec, *p.spec.Load(), key) {
				plugins = append(plugins, p.name)
			}
		}
		s.reductions.reported[key] = append(known, plugins...)
		callback.Run(s.log, "supervise.Options.OnReduced",
			func() { s.options.OnReduced(Reduction{got.Requested, got.Effective, m, plugins}) })
	}
}

// sharesReduction reports whether another plugin will run at a lower level for the same reason as one that was
// launched. It looks at no file, since a file system may hang: a reason that depends on files is shared by plugins with
// the same sandbox block.
func (s *Supervisor) sharesReduction(launched, other Spec, key reductionKey) bool {
	if launched.Attach != other.Attach {
		return false
	}
	a, b := launched.Sandbox, other.Sandbox
	if a.Level, b.Level = a.Requested(), b.Requested(); reflect.DeepEqual(a, b) {
		return true
	}
	got, err := other.attachedConfinement(), error(nil)
	if !other.Attach {
		got, err = other.Sandbox.Evaluate(s.capabilities())
	}
	return err == nil && got.Requested == key.requested && got.Effective == key.effective &&
		slices.Contains(got.Missing, key.missing)
}

// logReduced is the default of Options.OnReduced.
func (s *Supervisor) logReduced(r Reduction) {
	s.log.Warn("plugins run at a lower sandbox level than requested", "plugins", strings.Join(r.Plugins, ", "),
		"requested", string(r.Requested), "effective", string(r.Effective), "missing", r.Missing)
}
