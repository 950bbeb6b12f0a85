package match

import (
	"slices"
	"strings"
)

// stayNote is for an exact match that ends before the comment at the end of a line: where new_string has that line farther
// up, the comment stays with it. It is refused when that line goes and one that stays would get the comment.
func (t *Text) stayNote(r *reading, at Range) (out *reading, place Range, refusal *Refusal) {
	last := t.lineAt(at.End)
	l := t.lines[last]
	if at.End <= l.start || at.End >= l.end || isBlankLine(t.data[at.End:l.end]) {
		return r, at, nil
	}
	note := t.tail(last)
	if note >= l.end || note < at.End || !isBlankLine(t.data[at.End:note]) {
		return r, at, nil
	}
	old, fresh := strings.Split(string(toLF(r.old.data)), "\n"), strings.Split(string(toLF([]byte(r.new))), "\n")
	was, is := squeeze([]byte(old[len(old)-1])), squeeze([]byte(fresh[len(fresh)-1]))
	best, most := -1, minSameLine
	for i, s := range fresh {
		if like := similarity(was, squeeze([]byte(s))); like >= most {
			best, most = i, like
		}
	}
	switch {
	case was == "" || was == is || len(fresh) == 1 && len(old) == 1 || best == len(fresh)-1:
		return r, at, nil
	case best < 0 && len(fresh) > 1 && is == "", best < 0 && is != "" && slices.ContainsFunc(old[:len(old)-1], func(s string) bool { return squeeze([]byte(s)) == is }):
		refusal = t.conflictAt(at, "the line that it ends in has a comment behind that, which would come behind another line")
		refusal.Hint = "Include the comment in old_string, and in new_string where it shall be."
		return r, at, refusal
	case best < 0:
		return r, at, nil
	}
	rest := string(t.data[at.End:l.end])
	fresh[best] += rest
	out = r.with(strings.Join(fresh, "\n"), "The comment behind old_string stays on its line.")
	out.old = newSource(append(slices.Clone(r.old.data), rest...), t.syntax)
	return out, Range{at.Start, l.end}, nil
}
