package match

import "testing"

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
