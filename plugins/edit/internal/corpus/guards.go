package corpus

import "strings"

// senseless asks for what no file can make right.
func (m *maker) senseless() (Case, bool) {
	s := m.source()
	d, ok := m.draw(s, 3, 12)
	if !ok {
		return Case{}, false
	}
	text := joinLines(d.lines[d.from : d.from+d.count])
	c := Case{Name: s.Name, Data: s.Data, Old: text, New: "x := 1\n"}
	switch m.IntN(6) {
	case 0:
		c.Noise, c.Old = "old_string is empty", ""
		c.New = text
	case 1:
		c.Noise, c.Old = "old_string is blank", one(m.Rand, []string{" ", "\n", "\t\n", "  \n \n", "\u3000"})
		c.New = text
	case 2:
		c.Noise, c.New = "new_string is old_string", text
	case 3:
		c.Noise, c.Old = "old_string is longer than the file", string(s.Data)+text
	default:
		c.Noise = "new_string leaves something out"
		c.New = omitted(d)
		ok = !strings.Contains(text, "...")
	}
	return c, ok
}

// omitted is what lazy models write.
func omitted(d *draft) string {
	mark := one(d.Rand, []string{"... existing code ...", "... rest of the code ...", "rest of the function unchanged ...", "... (unchanged) ..."})
	comment := d.src.lang.comment
	if comment == "" {
		comment = "//"
	}
	first, last := d.text(0), d.text(d.count-1)
	return first + " // new\n" + indentOf(d.text(1)) + comment + " " + mark + "\n" + last + "\n"
}
