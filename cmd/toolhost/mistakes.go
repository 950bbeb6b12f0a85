package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

var (
	unusable = regexp.MustCompile(`(?s)^(plugin "([^"]+)" cannot be used: )(.*)$`)
	wrong    = "its configuration is wrong: "
	refused  = "it refused its configuration: "
	part     = regexp.MustCompile(`^([\w.\[\]-]+): `)
	unknown  = regexp.MustCompile(`^(?:[\w.\[\]-]+: )?unknown property "([^"]+)"`)
)

// located puts the place in the configuration before each mistake that a plugin has found in its own.
func located(c *config.Config, err error) []error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return []error{err}
	}
	m := unusable.FindStringSubmatch(e.Message)
	if m == nil {
		return []error{err}
	}
	var out []error
	words, several := strings.CutPrefix(m[3], wrong)
	if !several {
		return []error{fmt.Errorf("%s: %w", c.Locate(m[2], pathIn(strings.TrimPrefix(m[3], refused))), err)}
	}
	for _, mistake := range split(words) {
		out = append(out, fmt.Errorf("%s: %s%s%s", c.Locate(m[2], pathIn(mistake)), m[1], wrong, mistake))
	}
	return out
}

// split parts mistakes that stand in one line. What does not begin as a mistake belongs to the one before.
func split(words string) (out []string) {
	for piece := range strings.SplitSeq(words, "; ") {
		begins := part.MatchString(piece) && !strings.HasPrefix(piece, "allowed: ") || unknown.MatchString(piece)
		if begins || len(out) == 0 {
			out = append(out, piece)
		} else {
			out[len(out)-1] += "; " + piece
		}
	}
	return out
}

// pathIn is where in the plugin's configuration a mistake is, "" for the whole.
func pathIn(mistake string) (path string) {
	if m := part.FindStringSubmatch(mistake); m != nil {
		path = m[1]
	}
	if m := unknown.FindStringSubmatch(mistake); m != nil {
		path = strings.TrimPrefix(path+"."+m[1], ".")
	}
	return path
}

// unknownTools finds settings for tools that their plugin does not have.
func (s *session) unknownTools(tools []*host.Tool) (problems []error) {
	for _, name := range slices.Sorted(maps.Keys(s.config.ToolSources)) {
		plugin, own, _ := strings.Cut(name, "__")
		started := slices.ContainsFunc(s.processes, func(p *supervise.Process) bool { return p.Name() == plugin && p.Status().State == supervise.Ready })
		if !started || slices.ContainsFunc(tools, func(t *host.Tool) bool { return t.Name == name }) {
			continue
		}
		problems = append(problems, fmt.Errorf("%s: there are settings for %s, but plugin %q has no tool %q%s",
			s.config.ToolSources[name], name, plugin, own, didYouMean(own, ownNames(tools, plugin))))
	}
	return problems
}

// ownNames are the names of a plugin's tools as its block has them.
func ownNames(tools []*host.Tool, plugin string) (out []string) {
	for _, t := range tools {
		if own, ok := strings.CutPrefix(t.Name, plugin+"__"); ok {
			out = append(out, own)
		}
	}
	return out
}

// didYouMean names the nearest one, if it is near.
func didYouMean(name string, names []string) string {
	distance := func(n string) int { return levenshtein.Distance(name, n, nil) }
	if len(names) == 0 {
		return ""
	}
	best := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	if distance(best) > max(2, len(name)/3) {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
