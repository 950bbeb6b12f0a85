package host

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGlobOfPlugin(t *testing.T) {
	t.Parallel()
	cases := []struct {
		glob            string
		reaches, covers bool // the plugin "ab"
	}{
		{"*", true, true}, {"**", true, true}, {"a*", true, true}, {"ab__*", true, true}, {"ab__**", true, true}, {"??*", true, true},
		{`\a[b-c]_?*`, true, true}, {"[^x]*", true, true},
		{"ab__x", true, false}, {"ab__?*", true, false}, {"ab__x*", true, false}, {"*x", true, false}, {"a*b__x", true, false}, {"a*[b]", true, false},
		{"", false, false}, {"ab", false, false}, {"ab__", true, false}, {"abc__*", false, false}, {"b*", false, false}, {"[^a]*", false, false},
		{"ab_x*", false, false}, {"ab-*", false, false}, {`ab\[*`, false, false}, {"???", false, false},
	}
	for _, c := range cases {
		if reaches, covers := globReaches(c.glob, "ab"), globCovers(c.glob, "ab"); reaches != c.reaches || covers != c.covers {
			t.Errorf("%q: reaches %t, covers %t; want %t, %t", c.glob, reaches, covers, c.reaches, c.covers)
		}
	}
}

// A glob that matches a name reaches its plugin; one that covers a plugin matches all its names.
func TestGlobsAndNames(t *testing.T) {
	t.Parallel()
	steps := rapid.SampledFrom([]string{"a", "b", "_", "__", "-", "*", "?", "[a-b]", "[^a]", `[\]a]`, `\a`, `\_`, "ab__"})
	globs := rapid.Map(rapid.SliceOfN(steps, 0, 8), func(s []string) string { return strings.Join(s, "") })
	plugins, tools := rapid.StringMatching(`[ab][ab-]{0,3}`), rapid.StringMatching(`[ab][ab_-]{0,4}`)
	rapid.Check(t, func(r *rapid.T) {
		glob, plugin, tool := globs.Draw(r, "glob"), plugins.Draw(r, "plugin"), tools.Draw(r, "tool")
		matched, err := path.Match(glob, plugin+"__"+tool)
		switch {
		case err != nil:
			r.Fatalf("%q: %s", glob, err)
		case matched && !globReaches(glob, plugin):
			r.Errorf("%q matches %s__%s, and does not reach %s", glob, plugin, tool, plugin)
		case !matched && globCovers(glob, plugin):
			r.Errorf("%q does not match %s__%s, and covers %s", glob, plugin, tool, plugin)
		}
	})
}
