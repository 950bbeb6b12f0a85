package match

import (
	"strings"
	"testing"
)

// Found by sweeps: a change next to lines of old_string that the file does not have, where two alignments are as good.
func TestDoubtfulAlignmentIsRefused(t *testing.T) {
	const lua = "function Backpack.new(slots)\n    local self = setmetatable({}, Backpack)\n    return " +
		"self\nend\n\nfunction Backpack:weight()\n    local sum = 0\n" +
		"    for _, stack in pairs(self.slots) do\n        sum = sum + stack.amount * (weights[stack.item] or 1)\n    " +
		"end\n    return sum\nend\n"
	const xml = "  <category id=\"tools\" name=\"Werkzeug\">\n    <article number=\"4712\" stock=\"0\">\n      " +
		"<title>Zange, isoliert</title>\n" +
		"      <keywords>pliers insulated</keywords>\n    </article>\n  </category>\n  <category id=\"garden\" " +
		"name=\"Garten\">\n" +
		"    <article number=\"5208\" stock=\"31\">\n      <title>Gartenschere</title>\n      <price>1590</price>\n      " +
		"<weight>220</weight>\n      <keywords>secateurs</keywords>\n    </article>\n    <article number=\"5301\">\n"
	const rest = "    local sum = 0\n    for _, stack in pairs(self.slots) do\n        sum = sum + stack.amount * " +
		"(weights[stack.item] or 1)"
	const garden = "  <category id=\"garden\" name=\"Garten\">\n    <article number=\"5208\" stock=\"31\">\n      " +
		"<title>Gartenschere</title>\n      <price>1590</price>"
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"an insertion before a line that is quite another one", "a.lua", lua, "            end\n        end\n" + rest,
			"            end\n            if not value then\n                return 0\n            end\n        end\n" + rest},
		{"a line that old_string has twice changes", "a.xml", xml, "    </category>\n  </category>\n" + garden,
			"    </pending>\n  </category>\n" + garden},
		{"the second of them changes", "a.xml", xml, "    </category>\n  </category>\n" + garden,
			"    </category>\n  </pending>\n" + garden},
		{"one of them goes", "a.xml", xml, "    </category>\n  </category>\n" + garden, "    </category>\n" + garden},
		{"the other one is misspelt", "a.xml", xml, "    </categroy>\n  </category>\n" + garden,
			"    </pending>\n  </category>\n" + garden},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := refused(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); r.Exact == "" {
				t.Errorf("nothing to copy: %+v", r)
			}
		})
	}
}

// Where all of the code is there, or most of a comment, its other lines may be in other words. What the file has
// stays.
func TestCommentsInOtherWords(t *testing.T) {
	const data = "# The cache holds what was read last.\n# Entries are dropped when they are old,\n" +
		"# and the oldest are dropped first.\n# A file that changes is read again.\n\n# Opens the cache of the user.\n" +
		"open_cache(user)\n# Reads all of it, entry by entry.\nread_entries(cache)\n# Tells how many there are.\n" +
		"print(count)\n"
	for _, c := range []struct{ name, old, fresh, want string }{
		{"comments alone", "# The cache holds what was read last.\n# Entries are just dropped when they are old,\n" +
			"# and the oldest are dropped first.\n# A file that changes is read again.\n",
			"# The cache holds what was read last.\n# Entries are just dropped when they are old,\n" +
				"# and the oldest are dropped first.\n# More than that is in the log.\n# A file that changes is read again.\n",
			strings.Replace(data, "# A file", "# More than that is in the log.\n# A file", 1)},
		{"all comments of some code", "# Opens a cache of a user.\nopen_cache(user)\n# Reads all of it, one by one.\n" +
			"read_entries(cache)\n# Tells how many they are.\nprint(count)\n",
			"# Opens a cache of a user.\nopen_cache(user)\n# Reads all of it, one by one.\n" +
				"read_all(cache)\n# Tells how many they are.\nprint(count)\n", strings.Replace(data, "read_entries", "read_all", 1)},
	} {
		if p, got := planned(t, "a.py", data, Change{Old: c.old, New: c.fresh}); got != c.want {
			t.Errorf("%s: pass %d gives\n%s", c.name, p.Pass, got)
		}
		refused(t, "a.py", data+"\n"+data, Change{Old: c.old, New: c.fresh}) // at two places
	}
	// Comments in quite other words may be those of another place, and one that changes must be known.
	for _, c := range [][2]string{
		{"# The cache holds what was read last.\n# Nobody knows when entries are old,\n# and the oldest are dropped first.\n" +
			"# Any file is a file.\n", "# The cache holds what was read last.\n# and the oldest are dropped first.\n"},
		{"# The cache holds what was read last.\n# Entries are just dropped when they are old,\n# and the oldest are dropped first.\n",
			"# The cache holds what was read last.\n# Entries go.\n# and the oldest are dropped first.\n"},
	} {
		r := refused(t, "a.py", data, Change{Old: c[0], New: c[1]})
		if r.Hint == "" || !strings.Contains(r.Exact, "Entries are dropped") {
			t.Errorf("%v\n%s", r, r.Exact)
		}
	}
	const old = "# A cache holds what was read last.\n# Entries are then dropped when old,\n# and the oldest get dropped first.\n" +
		"# Files that change are read again.\n"
	if r := refused(t, "a.py", data, Change{Old: old, New: old + "# More.\n"}); !strings.Contains(r.Message,
		`Line 1 is "# The cache`) {
		t.Errorf("what differs is not named: %v", r)
	}
}
