package document

import (
	"bytes"
	"slices"
)

// Entry returns the object that a change puts in a file, nil if it is not there.
func (c Change) Entry(syntax Syntax, data []byte) (*Node, error) {
	root, err := Parse(syntax, data)
	if err != nil {
		return nil, err
	}
	_, entry, err := c.find(root)
	return entry, err
}

// Remove takes the entry of a change, which must be there, out of the data, and leaves the bytes of all else as they
// are. Errors are of the types *SyntaxError and *ByHandError.
func (c Change) Remove(syntax Syntax, data []byte) ([]byte, error) {
	root, err := Parse(syntax, data)
	if err != nil {
		return nil, err
	}
	holder, entry, err := c.find(root)
	if err != nil {
		return nil, err
	}
	w := writer{syntax, data, newlineOf(data)}
	byHand := &ByHandError{entry.Line, c.Name + " is written in a way that is not taken out here"}
	out, end := data, len(data)
	for _, e := range w.remove(c, root, holder, entry) { // the last in the file first
		if e.end > end { // of YAML with other line breaks
			return nil, byHand
		}
		out, end = slices.Concat(out[:e.start], []byte(e.text), out[e.end:]), e.start
	}
	holder.Members = slices.DeleteFunc(holder.Members, func(m Member) bool { return m.Value == entry })
	holder.Items = slices.DeleteFunc(holder.Items, func(n *Node) bool { return n == entry })
	got, err := Parse(syntax, out)
	if err == nil && syntax == TOML && got.Get(c.Path[0]) == nil && len(holder.Members) == 0 {
		got.set(c.Path[0], holder) // an empty table needs no header
	}
	if err != nil || !Equal(got, root) {
		return nil, byHand
	}
	return out, nil
}

// remove returns the edits that may take the entry out: not if it is written in a rare way.
func (w writer) remove(c Change, root, holder, entry *Node) (out []edit) {
	i := slices.IndexFunc(holder.Members, func(m Member) bool { return m.Value == entry })
	start := entry.Start
	if i >= 0 {
		start = holder.Members[i].Start
	}
	switch {
	case w.syntax == JSON && i >= 0:
		end, before := entry.End, 0
		if comma := w.skipBlanks(end, true); comma < len(w.data) && w.data[comma] == ',' {
			end = comma + 1
		} else if i > 0 {
			before = w.skipBlanks(holder.Members[i-1].Value.End, true)
		}
		out = append(out, w.cut(start, end))
		if before > 0 {
			out = append(out, edit{before, before + 1, ""})
		}
	case w.syntax == TOML:
		e := w.lines(start, entry.lastByte())
		if blank := w.lineStart(max(e.start-1, 0)); len(bytes.TrimSpace(w.data[blank:e.start])) == 0 {
			e.start = blank
		}
		out = append(out, e)
	case w.syntax == YAML && len(entry.Members) > 0:
		last := entry.Members[len(entry.Members)-1].Start
		out = append(out, w.lines(start, w.blockEnd(last, last-w.lineStart(last)+1)))
		if len(holder.Members)+len(holder.Items) > 1 {
			break
		}
		empty := " {}" // null would be another value
		if c.Listed {
			empty = " []"
		}
		for _, m := range root.Members {
			if colon := m.Start + bytes.IndexByte(w.data[m.Start:], ':') + 1; m.Value == holder {
				out = append(out, edit{colon, colon, empty})
			}
		}
	}
	return out
}

// lastByte is the end of the last value in n, and in what is below it.
func (n *Node) lastByte() int {
	end := n.End
	for _, m := range n.Members {
		end = max(end, m.Value.lastByte())
	}
	return end
}

// lines removes the lines of these bytes.
func (w writer) lines(start, end int) edit {
	end = w.lineEnd(end)
	if at := bytes.IndexByte(w.data[end:], '\n'); at >= 0 {
		end += at + 1
	}
	return edit{w.lineStart(start), end, ""}
}

// cut removes these bytes, with their lines if nothing else is on them, otherwise with the blanks on one side.
func (w writer) cut(start, end int) edit {
	e := w.lines(start, end)
	if len(bytes.TrimSpace(w.data[e.start:start]))+len(bytes.TrimSpace(w.data[end:e.end])) == 0 {
		return e
	}
	if w.data[end-1] == ',' {
		return edit{start, end + len(w.data[end:]) - len(bytes.TrimLeft(w.data[end:], " \t")), ""}
	}
	return edit{len(bytes.TrimRight(w.data[:start], " \t")), end, ""}
}
