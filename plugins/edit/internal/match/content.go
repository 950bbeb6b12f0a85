package match

import "bytes"

// Content says why a file may not be given new content as a whole: code in it was left out that the file has now, or all of
// it is in the fence of a code block. Before is nil for a file that is new, of which only fences are looked at. The name
// tells the kind of file. It gives nil when nothing speaks against the content.
func Content(name string, before, content []byte) *Refusal {
	was := before
	if len(bytes.TrimSpace(was)) == 0 {
		was = newline
	}
	t := NewText(name, was)
	r := newReading("", string(was), string(content), 9, t.syntax)
	all := []Range{{0, len(was)}}
	if before != nil {
		if refusal := t.leavesOut(r, all); refusal != nil {
			return withoutPlace(refusal)
		}
	}
	return withoutPlace(t.fencedAlone(r, all))
}

// withoutPlace drops what a refusal shows: it is about all of the file.
func withoutPlace(r *Refusal) *Refusal {
	if r != nil {
		r.Candidates, r.Excerpt, r.Exact = nil, "", ""
		r.Hint = "Give all of the content, as the file shall hold it. To change a part of a file use replace."
	}
	return r
}
