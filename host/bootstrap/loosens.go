package bootstrap

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// loosens has a line for what each kind of setting lets happen that would not happen, or not without a question. A
// kind has one line, however often the file uses it: many of one must not push another out of sight. Plugins come last.
func (c *Configuration) loosens() (lines []string) {
	add := func(what string, parts []string) {
		if len(parts) > 0 {
			lines = append(lines, what+": "+strings.Join(parts, "; "))
		}
	}
	if c.Host.WithoutFloor {
		add("floor", []string{"off, so rules may allow commands that destroy the machine, a home folder or a disk"})
	}
	if c.Host.Mode == host.ModeAutoEdit {
		add("approval", []string{"auto_edit, so tools of the category edit run without asking you"})
	}
	if allow := c.allowing(); len(allow) > 0 {
		add("rules", []string{"allow calls without asking you: " + strings.Join(allow, "; ")})
	}
	var roots []string
	for _, r := range c.Host.Roots {
		when := "when you agree"
		if r.Effect == policy.Allow {
			when = "without asking you"
		}
		roots = append(roots, fmt.Sprintf("tools may read %s %s", r.Path, when))
	}
	add("roots", roots)
	if c.LockMode == lockfile.Off {
		add("lock", []string{"off, so " + lockfile.Name + " does not count"})
	}
	add("telemetry", c.exports())
	add("serve", c.serves())
	var identities []string
	for _, i := range c.Identities {
		identities = append(identities, "who has the token of "+i.Name+" may call tools")
	}
	add("mcp", identities)
	for _, d := range c.Discovery {
		if d.Sandbox != nil {
			add("discovery "+d.Name, c.reaches(*d.Sandbox))
		}
	}
	for _, s := range c.Plugins {
		parts := c.reaches(s.Sandbox)
		o := c.Host.Plugins[s.Name]
		if len(o.MayCall) > 0 {
			parts = append(parts, "may call "+strings.Join(o.MayCall, ", "))
		}
		if o.TrustForeignHints {
			parts = append(parts, "hints that it passes on are believed (trust_hints)")
		}
		if c.FreeTools[s.Name] {
			parts = append(parts, "its tools may change after they were locked (pin_tools)")
		}
		add("plugin "+s.Name, parts)
	}
	return lines
}

// allowing describes the rules and modes that let calls run without a question.
func (c *Configuration) allowing() (parts []string) {
	known := map[string]bool{} // profiles share the rules that they include
	rules := func(of string, all []policy.Rule) {
		for _, r := range all {
			tools := strings.Join(r.Tools, ", ")
			if len(r.Tools) == 0 {
				tools = "every tool"
			}
			switch {
			case known[r.Source] || r.Judge == nil && r.Effect != policy.Allow:
				continue
			case r.Judge != nil:
				tools = "some commands of " + tools
			case r.When != nil || r.Hints != (policy.Hints{}) || len(r.Categories)+len(r.CostTiers)+len(r.Callers) > 0:
				tools += ", under conditions"
			}
			known[r.Source] = true
			parts = append(parts, fmt.Sprintf("%s%s (%s)", of, r.Name, tools))
		}
	}
	for _, l := range c.Policies {
		rules("", l.Rules)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profiles[name]
		if p.Mode == host.ModeAutoEdit {
			parts = append(parts, "profile "+name+", mode auto_edit (tools of the category edit)")
		}
		rules("profile "+name+", ", p.Rules.Rules)
	}
	return parts
}

// exports describes what leaves by telemetry.
func (c *Configuration) exports() (parts []string) {
	t := c.Telemetry
	if t == nil {
		return nil
	}
	if t.Endpoint != "" {
		parts = append(parts, "sends traces and metrics to "+t.Endpoint)
	}
	if t.Content {
		parts = append(parts, "traces contain arguments and results")
	}
	if len(t.Headers) > 0 { // the values may be secrets
		parts = append(parts, "sends the headers "+strings.Join(slices.Sorted(maps.Keys(t.Headers)), ", "))
	}
	return parts
}

// serves describes who can reach a host that serves the configuration.
func (c *Configuration) serves() (parts []string) {
	s := c.Serve
	if s == nil {
		return nil
	}
	if s.OnDemand {
		parts = append(parts, "commands start a host in the background")
	}
	for _, place := range []string{s.Address, s.Socket} {
		if place != "" {
			parts = append(parts, "it can be reached at "+place)
		}
	}
	if len(s.Hosts) > 0 {
		parts = append(parts, "as "+strings.Join(s.Hosts, ", "))
	}
	for _, t := range s.Tokens {
		parts = append(parts, "who has the token "+t.Name+" is "+t.Role)
	}
	return parts
}

// reaches describes what a sandbox block lets a program do that the default does not.
func (c *Configuration) reaches(s sandbox.Spec) (parts []string) {
	if s.Level == sandbox.Supervised {
		parts = append(parts, "runs supervised, so it may change whatever you may")
	}
	if s.NewPrivileges {
		parts = append(parts, "may gain privileges, such as by sudo")
	}
	if len(s.Write) > 0 {
		var places []string
		for _, path := range s.Write {
			places = append(places, c.withTarget(path, path))
		}
		parts = append(parts, "may write to "+strings.Join(places, ", "))
	}
	return parts
}
