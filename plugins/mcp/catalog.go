package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

const (
	maxRead        = 10_000  // definitions of a server
	maxTools       = 2048    // of a plugin
	maxDefinitions = 3 << 20 // bytes of all together: their list travels in one message
	maxNotices     = 50
)

// A catalog is the list of a server's tools as the plugin offers it, and what is to be said about the rest.
type catalog struct {
	tools   []*definition
	notices []string // at most maxNotices
	left    []string // what is left out, and why
	changed []string // what is offered in another way than the server wrote it

	empty bool // neither the server nor the plugin itself has tools

	ttl time.Duration // how long the list stays valid, as the server says; 0 if it does not
}

func (c *catalog) leave(format string, a ...any) { c.left = append(c.left, fmt.Sprintf(format, a...)) }

// note notes what is offered in another way.
func (c *catalog) note(format string, a ...any) {
	c.changed = append(c.changed, fmt.Sprintf(format, a...))
}

// notice sets the notices: what is left out first.
func (c *catalog) notice() {
	c.notices = slices.Concat(c.left, c.changed)
	if more := len(c.notices) - maxNotices; more > 0 {
		c.notices = append(c.notices[:maxNotices], fmt.Sprintf("and %d more notices like these", more))
	}
}

// readCatalog makes a catalog of a server's list. A tool that cannot be called is left out with a notice, and costs no
// other tool. The own tools of the plugin keep their names.
func readCatalog(list []json.RawMessage, choice selection, own []string) *catalog {
	c := &catalog{}
	if len(list) > maxRead {
		c.leave("the server has %d tools; only the first %d are read", len(list), maxRead)
		list = list[:maxRead]
	}
	var found []*definition
	byOriginal := map[string]bool{}
	for i, item := range list {
		d, err := readDefinition(item)
		switch {
		case err != nil:
			c.leave("%s is left out: %v", c.called(i, item), err)
			continue
		case !choice.has(d):
			continue
		case byOriginal[d.original]:
			c.leave("the server lists two tools called %s; the first one is offered", quoted(d.original))
			continue
		}
		byOriginal[d.original] = true
		found = append(found, d)
	}
	c.settleNames(found, own)
	c.admit(found, maxTools-len(own))
	for _, unused := range choice.unused(byOriginal, list) {
		c.leave("%s", unused)
	}
	c.notice()
	return c
}

func (c *catalog) called(i int, item json.RawMessage) string {
	if name, ok := text(memberOf(item, "name")); ok && name != "" {
		return "the tool " + quoted(name)
	}
	return fmt.Sprintf("tool %d of the list", i+1)
}

func quoted(name string) string {
	return fmt.Sprintf("%q", textutil.CutRunes(name, 60, "…"))
}

// settleNames gives each tool a name of its own. Of tools whose names became one, or differ only by letter case, the
// one that kept its own name, else the first by its original name, keeps it; the others get a hash of their original
// names.
func (c *catalog) settleNames(found []*definition, own []string) {
	ranked := slices.Clone(found)
	slices.SortStableFunc(ranked, func(a, b *definition) int {
		if fitsA, fitsB := a.Name == a.original, b.Name == b.original; fitsA != fitsB {
			return map[bool]int{true: -1, false: 1}[fitsA]
		}
		return strings.Compare(a.original, b.original)
	})
	owners := map[string]string{}
	for _, name := range own {
		owners[strings.ToLower(name)] = name
	}
	for _, d := range ranked {
		if owner, taken := owners[strings.ToLower(d.Name)]; taken {
			name := toolNames.Hashed(d.Name, d.original)
			c.note("the tools %s and %s of the server would have one name here; the first is called %s", quoted(d.original),
				quoted(owner), name)
			d.Name = name
		}
		if d.Name != d.original {
			d.OriginalName = d.original
		}
		owners[strings.ToLower(d.Name)] = d.original
	}
}

// admit takes the tools that a host accepts, of which there are most at most.
func (c *catalog) admit(found []*definition, most int) {
	size, names := 0, map[string]*definition{}
	for _, d := range found {
		if err := d.Check(); err != nil {
			c.leave("the tool %s is left out: %v", quoted(d.original), err)
			continue
		}
		if other := names[strings.ToLower(d.Name)]; other != nil {
			c.leave("the tool %s is left out: its name here, %s, is that of %s", quoted(d.original), d.Name,
				quoted(other.original))
			continue
		}
		if len(c.tools) == most {
			c.leave("the tool %s and those after it are left out: %d tools are offered at most; name the tools that "+
				"are needed in include_tools", quoted(d.original), most)
			return
		}
		const around = 256 // bytes for what is not counted
		size += around + len(d.Name) + len(d.Title) + len(d.original) + len(d.Description) + len(d.InputSchema) +
			len(d.OutputSchema) + len(d.Extra)
		if size > maxDefinitions {
			c.leave("the tool %s and those after it are left out: the definitions have more than %d bytes together; name "+
				"the tools that are needed in include_tools", quoted(d.original), maxDefinitions)
			return
		}
		for _, note := range d.notes {
			c.note("the tool %s: %s", quoted(d.original), note)
		}
		names[strings.ToLower(d.Name)] = d
		c.tools = append(c.tools, d)
	}
}

// A selection says which tools of a server are offered.
type selection struct {
	include, exclude []string // patterns; no include is all
}

// has reports whether a tool is offered. exclude takes precedence. Patterns fit the server's name of a tool or its own.
func (s selection) has(d *definition) bool {
	fits := func(pattern string) bool { return matches(pattern, d.original) || matches(pattern, d.Name) }
	return (len(s.include) == 0 || slices.ContainsFunc(s.include, fits)) && !slices.ContainsFunc(s.exclude, fits)
}

// unused says which names, not patterns, of include_tools no tool has: probably a mistake in writing.
func (s selection) unused(offered map[string]bool, list []json.RawMessage) (out []string) {
	var names []string
	for _, item := range list {
		if name, ok := text(memberOf(item, "name")); ok {
			names = append(names, name)
		}
	}
	for _, pattern := range s.include {
		if strings.ContainsAny(pattern, "*?") || offered[pattern] {
			continue
		}
		if !slices.ContainsFunc(names, func(n string) bool { return n == pattern || toolNames.Fit(n) == pattern }) {
			out = append(out, fmt.Sprintf("include_tools: the server has no tool %q%s", pattern,
				textutil.DidYouMean(pattern, names)))
		}
	}
	return out
}

var toolNames = toolname.Rule{Max: toolname.Limit(sdk.Instance())}

// matches reports whether a name fits a pattern, in which * stands for any text and ? for one character.
func matches(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	star, from := -1, 0
	for i, j := 0, 0; ; {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case j < len(n) && i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i++
			j++
		case i == len(p) && j == len(n):
			return true
		case star >= 0 && from < len(n): // let the last star stand for one character more
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
}
