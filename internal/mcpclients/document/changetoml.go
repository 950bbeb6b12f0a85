package document

import "strings"

// addTOML adds a table at the end of the file.
func (w writer) addTOML(holder *Node, c Change) (edit, error) {
	if holder != nil && holder.form == inline {
		return edit{}, &ByHandError{holder.Line,
			strings.Join(c.Path, ".") + " is written in braces, which cannot be added to"}
	}
	var names, lines []string
	for _, name := range append(c.Path[:len(c.Path):len(c.Path)], c.Name) {
		names = append(names, tomlKey(name))
	}
	lines = append(lines, "["+strings.Join(names, ".")+"]")
	for _, m := range c.Value.Members {
		lines = append(lines, tomlKey(m.Name)+" = "+flowTOML(m.Value))
	}
	before := w.brokenLine()
	if strings.TrimSpace(string(w.data)) != "" {
		before += w.newline
	}
	end := len(w.data)
	return edit{end, end, before + strings.Join(lines, w.newline) + w.newline}, nil
}

// putTOML sets a key of a table.
func (w writer) putTOML(entry, old *Node, m Member) (edit, error) {
	switch {
	case entry.form != header:
		return edit{}, &ByHandError{entry.Line, "it is not written as a table with a header of its own, and differs"}
	case old != nil && (old.form == header || old.form == implicit):
		return edit{}, &ByHandError{old.Line, m.Name + " is a table; a value is expected"}
	case old != nil:
		return edit{old.Start, old.End, flowTOML(m.Value)}, nil
	}
	at := w.lineEnd(entry.End)
	return edit{at, at, w.newline + tomlKey(m.Name) + " = " + flowTOML(m.Value)}, nil
}
