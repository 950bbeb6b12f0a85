package toolname

import (
	"regexp"
	"strings"
)

// MaxPlugin is the limit, in bytes, of a plugin's name.
const MaxPlugin = 32

var (
	plugin   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	noPlugin = regexp.MustCompile(`[^a-z0-9]+`)
)

// IsPlugin reports whether a text is the name of a plugin: lowercase letters, digits and dashes, at most 32 characters,
// the first of them a letter.
func IsPlugin(text string) bool { return plugin.MatchString(text) }

// Plugin makes the name of a plugin of any text; "" where no character of it fits.
func Plugin(text string) string {
	name := strings.TrimLeft(noPlugin.ReplaceAllString(strings.ToLower(text), "-"), "-0123456789")
	return strings.Trim(name[:min(len(name), MaxPlugin)], "-")
}

var ending = regexp.MustCompile(`\.[a-z]+$`)

// PluginOf makes the name of a plugin of that of its program, such as toolhost-plugin-weather or weather.py; "" where no
// character of it fits.
func PluginOf(program string) string {
	return Plugin(strings.TrimPrefix(ending.ReplaceAllString(program, ""), "toolhost-plugin-"))
}
