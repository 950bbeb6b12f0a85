package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
)

var costTiers = []string{"free", "cheap", "expensive"}

// globs reads a list of patterns. Only where empty is true may it be empty, and then it is not nil.
func (f *fields) globs(name string, c check, empty bool) []string {
	out, ok := f.texts(name, c)
	if !ok {
		return nil
	}
	if len(out) == 0 && !empty {
		f.noItems(name, f.body.Attributes[name].Expr.Range())
	}
	return out
}

// noItems reports a list that people could take for nothing, and the policy for everything.
func (f *fields) noItems(name string, at hcl.Range) {
	f.wrong(at, "%s is empty, and could match nothing", name).hint("remove it to match all, or the whole rule")
}

// words reads a string or a list of strings.
func (f *fields) words(name string, c check) []string {
	a := f.attr(name)
	if a == nil {
		return nil
	}
	if v, ok := f.eval(a.Expr); ok && textKind.is(v) {
		return []string{f.checked(v.AsString(), name, a.Expr.Range(), c)}
	}
	return f.globs(name, c, false)
}

// oneOf reads one of a few words, "" when there is none.
func (f *fields) oneOf(name string, choices []string) string {
	return f.text(name, func(s string) (problem, hint string) {
		if slices.Contains(choices, s) {
			return "", ""
		}
		return fmt.Sprintf("cannot be %q", brief(s)), suggest(s, choices, "it is one of")
	})
}

func checkCostTier(s string) (problem, hint string) {
	if slices.Contains(costTiers, s) {
		return "", ""
	}
	return fmt.Sprintf("cannot be %q", brief(s)), suggest(s, costTiers, "the tiers are")
}

// checkLine accepts one line of text.
func checkLine(s string) (problem, hint string) {
	switch {
	case strings.TrimSpace(s) == "":
		return "is blank", "remove it, or say something"
	case len(s) > 1000 || strings.ContainsFunc(s, unicode.IsControl):
		return "must be one line of at most 1000 bytes", ""
	}
	return "", ""
}

func checkGlob(s string) (problem, hint string) {
	if _, err := path.Match(s, ""); err != nil || s == "" {
		return fmt.Sprintf("has the pattern %q, which is not well formed", brief(s)), "* stands for any characters, ? for one, [a-c] for one of these"
	}
	return "", ""
}

// checkToolGlob finds patterns that no full name can match.
func checkToolGlob(s string) (problem, hint string) {
	if problem, hint := checkGlob(s); problem != "" {
		return problem, hint
	}
	if strings.ContainsAny(s, "*?[") || strings.Contains(s, "__") {
		return "", ""
	}
	return fmt.Sprintf("is %q, which no tool is called: full names are PLUGIN__TOOL", brief(s)), fmt.Sprintf("write %q for all tools of that plugin", s+"__*")
}
