package toolname

import (
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

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

// Plugin makes the name of a plugin of any text; "" where no character of it fits.
func Plugin(text string) string {
	name := strings.TrimLeft(noPlugin().ReplaceAllString(strings.ToLower(text), "-"), "-0123456789")
	return strings.Trim(name[:min(len(name), MaxPlugin)], "-")
}

var ending = lazy.Regexp(`\.[a-z]+$`)

// PluginOf makes the name of a plugin of that of its program, such as toolhost-plugin-weather or weather.py; "" where
// no character of it fits.
func PluginOf(program string) string {
	return Plugin(strings.TrimPrefix(ending().ReplaceAllString(program, ""), ProgramPrefix))
}
