package toolname

import (
	"regexp"
	"strings"
)

const (
	// PluginRule says what the name of a plugin is.
	PluginRule = "lowercase letters, digits and dashes, at most 32, the first a letter"

	maxPlugin = 32
)

var (
	plugin   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	noPlugin = regexp.MustCompile(`[^a-z0-9]+`)
)

// IsPlugin reports whether a text is the name of a plugin, by PluginRule.
func IsPlugin(text string) bool { return plugin.MatchString(text) }

// Plugin makes the name of a plugin of any text; "" where no character of it fits.
func Plugin(text string) string {
	name := strings.TrimLeft(noPlugin.ReplaceAllString(strings.ToLower(text), "-"), "-0123456789")
	return strings.Trim(name[:min(len(name), maxPlugin)], "-")
}

var ending = regexp.MustCompile(`\.[a-z]+$`)

// PluginOf makes the name of a plugin of that of its program, such as toolhost-plugin-weather or weather.py; "" where
// no character of it fits.
func PluginOf(program string) string {
	return Plugin(strings.TrimPrefix(ending.ReplaceAllString(program, ""), "toolhost-plugin-"))
}
