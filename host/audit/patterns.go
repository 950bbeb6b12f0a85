package audit

import (
	"regexp"
	"slices"
	"strings"
)

// A pattern finds secrets by how they look. The secret is the group that has matched, if there are groups, else all.
type pattern struct {
	hints      []string // in lower case; without any of them in the text the expression need not be tried
	expression func() *regexp.Regexp
}

// likely says whether the expression needs to be tried on a text, which is in lower case.
func (p pattern) likely(lower string) bool {
	return slices.ContainsFunc(p.hints, func(h string) bool { return strings.Contains(lower, h) })
}

// find adds what the pattern finds.
func (p pattern) find(found []span, text string) []span {
	for _, m := range p.expression().FindAllStringSubmatchIndex(text, -1) {
		s := span{m[0], m[1]}
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				s = span{m[g], m[g+1]}
			}
		}
		if s.from < s.to && text[s.from:s.to] != redacted {
			found = append(found, s)
		}
	}
	return found
}

// named are ends of names whose values are secret, and value is a value, within quotes or not. What is named token needs
// more of a look where it does not follow "=".
const (
	named = `(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|credentials?|cookie)`
	value = `(?:"((?:[^"\\]|\\.)*)|'([^']*)|\\+"([^"\\]*)|(\[redacted\]|[^\s"'\\,;&(){}<>]+))`
)

var namedHints = []string{"passw", "passphrase", "secret", "key", "credential", "cookie", "token"}

var patterns = []pattern{
	{[]string{"ghp_", "gho_", "ghr_", "ghs_", "ghu_"}, lazily(`\bgh[oprsu]_[A-Za-z0-9]{16,}`)},
	{[]string{"github_pat_"}, lazily(`\bgithub_pat_\w{16,}`)},
	{[]string{"akia", "asia"}, lazily(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{[]string{"aiza"}, lazily(`\bAIza[\w-]{30,}`)},
	{[]string{"sk-"}, lazily(`\bsk-[\w-]{16,}`)},
	{[]string{"xox"}, lazily(`\bxox[a-z]-[\w-]{8,}`)},
	{[]string{"glpat-"}, lazily(`\bglpat-[\w-]{16,}`)},
	{[]string{"eyj"}, lazily(`\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*`)},
	{[]string{"private key-----"}, lazily(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`)},
	{[]string{"://"}, lazily(`://[^\s/?#@:"]*:([^\s/?#"]+)@`)},
	{[]string{"authorization"}, lazily(`(?i)authorization\\*["']?\s*[:=]\s*\\*["']?([^\s"'\\][^"'\\\r\n]*)`)},
	{[]string{"bearer"}, lazily(`(?i)\bbearer\s+([\w.~+/=-]{16,})`)},
	{namedHints, lazily(`(?i)(?:` + named + `|token)\\*["']?\s*=\s*` + value)},
	{namedHints, lazily(`(?i)` + named + `\\*["']?\s*:\s*` + value)},
	{[]string{"token"}, lazily(`(?i)token\\*["']?\s*:\s*\\*["']?([\w.~+/=-]{16,})`)},
	{namedHints, lazily(`(?i)--[\w-]*(?:` + named + `|token)\s+` + value)},
}

// allHints are the hints of all patterns. They stand in every text in which there is something to find, and in every
// name that is about secrets.
var allHints = func() (out []string) {
	for _, p := range patterns {
		out = append(out, p.hints...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}()
