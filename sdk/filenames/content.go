package filenames

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// HoldsSecret tells whether a text looks as if it held a password, token or private key: an assignment to a name of
// one, a private key, a token of a known form, an address with a password. Placeholders and references to variables are
// none. It looks at the first MiB.
func HoldsSecret(text []byte) bool {
	text = text[:min(len(text), 1<<20)]
	if bytes.Contains(text, []byte("PRIVATE KEY")) || knownToken().Match(text) {
		return true
	}
	for _, found := range assigned().FindAllSubmatch(text, 200) {
		if !placeholder(string(found[len(found)-1])) {
			return true
		}
	}
	return false
}

var (
	knownToken = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(gh[pousr]_[A-Za-z0-9]{20}|github_pat_\w{20}|glpat-[\w-]{16}|xox[abprs]-[\w-]{10}|AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|AIza[\w-]{30}|` +
			`sk-[\w-]{16}|sk_live_\w{16}|rk_live_\w{16}|npm_[A-Za-z0-9]{20}|hf_[A-Za-z0-9]{20}|pypi-[\w-]{16}|SG\.[\w-]{16}|AGE-SECRET-KEY-1|eyJ[\w-]{10,}\.eyJ[\w-]{10})` +
			`|://[^/\s:@"']+:[^/\s@"'${<]+@|AccountKey=[\w+/=]{20}`)
	})
	assigned = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)[\w.-]*(passw(or)?d|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|auth[_-]?key|credential|connection[_-]?string|client[_-]?secret)` +
			`s?["']?\s*(=>|[:=])\s*["']?([^\s"',;}{\[\]()]{4,})`)
	})
	words = setOf(`true false null none nil string text number boolean object array required optional undefined changeme change_me change-me example placeholder
		todo secret password token your-password your_password process.env os.environ env default disabled enabled`)
)

// placeholder tells of values that stand for one.
func placeholder(value string) bool {
	lower := strings.ToLower(strings.Trim(value, `"'`))
	return words[lower] || strings.Trim(lower, "x*.-_#") == "" || strings.Trim(lower, "0123456789") == "" ||
		strings.ContainsAny(lower[:1], "$<%{./") ||
		strings.HasPrefix(lower, "your") || strings.HasPrefix(lower, "process.env") || strings.HasPrefix(lower, "os.") ||
		strings.HasPrefix(lower, "env.")
}
