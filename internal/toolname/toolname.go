// Package toolname has what names of tools and plugins may be, and globs of them, and makes names of third parties fit.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A Rule makes names of tools of one plugin.
type Rule struct {
	Max   int  // bytes of a name
	Lower bool // letters of names that do not fit are made lower case
}

// Limit is the most bytes of a tool's name beside that of its plugin: a full name has at most 64. Without a plugin's
// name, as in a test, it leaves room for most.
func Limit(plugin string) int {
	if plugin == "" {
		return 40
	}
	return max(31, min(61, 64-len("__")-len(plugin)))
}

// Alias matches names that every model vendor accepts.
var Alias = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

var fitting = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// Fit makes a tool name of any text, which stays unchanged where it fits. It depends on the text alone, so that no
// other tool renames it; different texts may give the same name.
func (r Rule) Fit(original string) string {
	if len(original) <= r.Max && fitting().MatchString(original) && !strings.Contains(original, "__") {
		return original
	}
	name := original
	if r.Lower {
		name = strings.ToLower(name)
	}
	name = strings.Map(fitRune, name)
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	if strings.Trim(name, "_-") == "" {
		return "tool_" + Hash(original) // no character of it fits
	}
	if name[0] == '_' || name[0] == '-' {
		name = "t" + name
	}
	if len(name) <= r.Max {
		return name
	}
	return r.Hashed(name, original)
}

func fitRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
		return r
	}
	return '_'
}

// Hashed adds a hash of the original to a name that is too long, or that another tool has.
func (r Rule) Hashed(name, original string) string {
	hash := Hash(original)
	return strings.TrimRight(name[:min(len(name), r.Max-len(hash)-1)], "_-") + "_" + hash
}

// Hash returns six characters that differ for most different texts.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:3])
}

// MatchesAny reports whether one of the globs matches a name, see Matches.
func MatchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return Matches(g, name) })
}

// Matches reports whether a pattern of path.Match that is well formed matches a name.
func Matches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil
}

const (
	// PluginRule says what the name of a plugin is.
	PluginRule = "lowercase letters, digits and dashes, at most 32, the first a letter"
	// PluginPattern is PluginRule as a regular expression.
	PluginPattern = `^[a-z][a-z0-9-]{0,31}$`
	// ProgramPrefix begins the names of programs that are found as plugins in a folder.
	ProgramPrefix = "toolhost-plugin-"
	// MaxPlugin is the most bytes of a plugin's name.
	MaxPlugin = 32
)

// IsPlugin reports whether a text is the name of a plugin. Each start of a plugin asks it, and would spend more time on
// compiling PluginPattern than on the check.
func IsPlugin(text string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (i == 0 || (c < '0' || c > '9') && c != '-') {
			return false
		}
	}
	return text != "" && len(text) <= MaxPlugin
}

var noPlugin = lazy.Regexp(`[^a-z0-9]+`)

// pluginName makes the name of a plugin of any text; "" where no character of it fits.
func pluginName(text string) string {
	name := strings.TrimLeft(noPlugin().ReplaceAllString(strings.ToLower(text), "-"), "-0123456789")
	return strings.Trim(name[:min(len(name), MaxPlugin)], "-")
}

var ending = lazy.Regexp(`\.[a-z]+$`)

// PluginOf makes the name of a plugin of that of its program, such as toolhost-plugin-weather or weather.py; "" where
// no character of it fits.
func PluginOf(program string) string {
	return pluginName(strings.TrimPrefix(ending().ReplaceAllString(program, ""), ProgramPrefix))
}
