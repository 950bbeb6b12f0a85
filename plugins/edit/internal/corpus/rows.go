package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// rowForms are how languages write rows whose keys are numbers; the value comes in the place of %s.
var rowForms = map[string]string{
	"yaml": "%d: {name: %s, kind: port}", "python": "%d: {\"name\": \"%s\", \"kind\": 1},", "js": "%d: { name: \"%s\", kind: 1 },", "go": "%d: {Name: \"%s\", Kind: 1},", "text": "%d: %s of the list",
	"rust": "%d | %s => open(1),", "c": "%d: %s, /* port */", "kotlin": "%d to \"%s\",", "ruby": "%d => \"%s\",", "php": "%d => \"%s\",", "lua": "[%d] = \"%s\",", "toml": "%d = \"%s\"",
	"sql": "%d | %s | open", "hcl": "%d = \"%s\"", "swift": "%d: \"%s\",", "csharp": "[%d] = \"%s\",",
}

// rows are some with keys of which one is the end of another.
func (d *draft) rows(form, indent string) (out []string, keys []int) {
	words := []string{"https", "admin", "metrics", "proxy", "mirror", "backup"}
	first := 100 + d.IntN(800)
	for i, word := range words[:3+d.IntN(3)] {
		keys = append(keys, first+i)
		out = append(out, indent+fmt.Sprintf(form, first+i, word+"_port"))
	}
	return out, keys
}

// numberKeys puts rows with numbers as keys into a file. Old_string has those, indented in another way.
func (m *maker) numberKeys() (Case, bool) { return m.numbers(false) }

// otherKeys has rows in old_string that the file does not have, whose text is there behind another number.
func (m *maker) otherKeys() (Case, bool) { return m.numbers(true) }

func (m *maker) numbers(absent bool) (Case, bool) {
	d, ok := m.draw(one(m.Rand, one(m.Rand, m.alike)), 2, 4)
	if !ok {
		return Case{}, false
	}
	form, ok := rowForms[d.src.lang.name]
	if !ok {
		return Case{}, false
	}
	indent := strings.Repeat(d.src.unit, 1+m.IntN(2))
	rows, keys := d.rows(form, indent)
	var block []line
	for _, r := range rows {
		block = append(block, line{r, "\n"})
	}
	d.lines = slices.Insert(slices.Clone(d.lines), d.from, block...)
	d.content = true
	d.look(d.from, len(rows))
	at := m.IntN(len(rows))
	d.cells[at].alter(strings.Replace(rows[at], "_port", "_gate", 1))
	if !absent {
		d.note("rows with numbers, indented in another way")
		d.reindent(func(string) string { return "" }, false)
		return d.finish()
	}
	d.note("rows with other numbers")
	n, count := m.IntN(len(rows)-1), 1+m.IntN(2)
	var old, fresh []string
	for i := n; i < n+count; i++ {
		other := strings.Replace(strings.TrimLeft(rows[i], " \t"), fmt.Sprint(keys[i]), fmt.Sprint(8000+keys[i]), 1)
		old, fresh = append(old, other), append(fresh, strings.Replace(other, "_port", "_gate", 1))
	}
	c := Case{Name: d.src.Name, Noise: strings.Join(d.notes, ", "), Data: []byte(joinLines(d.lines)), Old: "  " + strings.Join(old, "\n  ") + "\n", New: "  " + strings.Join(fresh, "\n  ") + "\n"}
	return c, !strings.Contains(squash(string(c.Data)), squash(c.Old))
}
