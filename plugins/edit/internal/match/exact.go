package match

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// exactEdits makes the edits for exact matches. Literal replacement could do harm: line breaks at the edges are kept,
// and what was inserted before is not inserted again.
func (t *Text) exactEdits(c Change, f *finding, p *Plan) *Refusal {
	p.Places = p.Places[:0]
	left, warned := 0, map[string]bool{}
	for _, h := range f.hits {
		if there, ok := t.insertedBefore(f.reading, h.Range); ok {
			if left++; !c.All || left == len(f.hits) {
				r := t.alreadyApplied(there)
				r.Message = "What new_string adds is in the file already, at " + t.where(there) +
					"; this edit seems to have been made before."
				r.Hint = "If that is what you want, there is nothing left to do. To add the same text once more, give as " +
					"old_string what is there with the text that was added, and that with one more as new_string."
				return r
			}
			continue
		}
		cut := &alignment{Range: h.Range, headCut: true, tailCut: true}
		if refusal := cmp.Or(t.twice(f.reading, cut), t.commentedOut(f.reading, h.Range)); refusal != nil {
			return refusal
		}
		r := *f.reading
		var shared, rest string
		if r.new, rest = t.indentRest(f.reading, h.Range); rest == "" {
			r.new, rest = t.indentPart(f.reading, h.Range)
		}
		if rest == "" {
			r.new, shared = t.fitEdges(&r, h.Range)
		}
		fresh, note, refusal := t.keepLineBreaks(&r, h.Range)
		if refusal != nil {
			return refusal
		}
		for _, note := range []string{rest, shared, note} {
			if note != "" && !warned[note] {
				warned[note] = true
				p.Warnings = append(p.Warnings, note)
			}
		}
		r.new = fresh
		kept, at, refusal := t.keepLineComment(&r, t.widenToLine(&r, h.Range))
		if refusal != nil {
			return refusal
		}
		edits := t.literalEdits(kept, at)
		if refusal := t.doubled(r.old, &alignment{Range: h.Range}, edits); refusal != nil {
			return refusal
		}
		p.Edits = append(p.Edits, edits...)
		p.Places = append(p.Places, h.Range)
	}
	if left > 0 {
		p.Warnings = append(p.Warnings, plural(left, "place")+" had new_string already and stayed as they were.")
	}
	return nil
}

// keepLineBreaks returns new_string for an exact match at a range of the file, with the line breaks that old_string
// begins or ends with and new_string lost: without them two lines would become one. The note says so.
func (t *Text) keepLineBreaks(r *reading, at Range) (fresh, note string, refusal *Refusal) {
	kept := func(where string) string {
		return "new_string lost the line break that old_string " + where + " with; it was kept, as two lines would have " +
			"become one. To join lines, give both of them as old_string."
	}
	old, fresh := string(r.old.data), r.new
	before, after := t.around(at)
	joinsHead, joinsTail := !isBlankString(before), !isBlankString(after)
	head, tail := outerSpace(old)
	if isBlankString(fresh) {
		if strings.Contains(tail, "\n") && !strings.Contains(fresh, "\n") && joinsHead && joinsTail {
			return tail, kept("ends"), nil
		}
		return fresh, "", nil
	}
	whole := fresh
	if joinsHead || !strings.Contains(fresh, old) { // else lines come before a blank one
		whole = withHead(head, fresh)
	}
	begins, ends := whole != fresh, false
	if _, own := outerSpace(whole); strings.Contains(tail, "\n") && !strings.Contains(own, "\n") {
		ends, whole = true, strings.TrimSuffix(whole, own)+tail
	}
	switch {
	case whole != old && begins && ends:
		return whole, kept("begins and ends"), nil
	case whole != old && begins:
		return whole, kept("begins"), nil
	case whole != old && ends:
		return whole, kept("ends"), nil
	case begins && joinsHead || ends && joinsTail:
		from, to := t.span(at)
		r := guard("new_string is old_string without the line break at its edge, so the only change would be that two lines "+
			"become one.", "To join the lines, give both of them as old_string. "+
			"Otherwise set new_string to the text that you want.")
		t.showLines(r, from, min(to+1, len(t.lines)))
		return "", "", r
	}
	return fresh, "", nil // a blank line goes, and nothing is joined
}

// dropExtraBreak takes from new_string the line break that it alone ends with, where the file has one behind the place:
// it would become a blank line. It is meant when nothing else changes, or when it sets lines that come apart, as others
// of them are, from text that follows.
func (t *Text) dropExtraBreak(r *reading, places []Range) *reading {
	fresh, ends := strings.CutSuffix(string(toLF([]byte(r.new))), "\n")
	old := string(toLF(r.old.data))
	if _, tail := outerSpace(old); !ends || strings.ContainsAny(tail, "\r\n") || isBlankString(fresh) ||
		strings.HasSuffix(fresh, "\n") || strings.TrimRight(fresh, blanks) == strings.TrimRight(old, blanks) ||
		r.old.counts(0, len(r.old.lines))[""] > newSource([]byte(fresh), nil).counts(0, strings.Count(fresh, "\n")+1)[""] {
		return r // with the last, the blank line may be one of old_string
	}
	end := func(s string) string { return squeeze([]byte(s[strings.LastIndexByte(s, '\n')+1:])) }
	gaps := func(s string) int { return strings.Count("\n"+s, "\n\n") }
	apart := gaps(fresh) > gaps(old) && end(fresh) != end(old)
	for _, at := range places {
		last := t.lineAt(max(at.Start, at.End-1))
		l := t.lines[last]
		behind := bytes.TrimRight(t.data[min(at.End, l.end):l.end], blanks)
		if len(behind) > 0 && string(behind) != "," && string(behind) != ";" || l.next == l.end ||
			apart && last+1 < len(t.lines) && !isBlank(t.text(last+1)) {
			return r
		}
	}
	return r.with(fresh, "new_string ends with a line break that old_string does not have; it was left out, as it would "+
		"have become a blank line.")
}

// withHead gives new_string the line break that it lost of the white space which old_string starts with, and the
// indentation after it when that is lost as well.
func withHead(head, fresh string) string {
	own, _ := outerSpace(fresh)
	bare := fresh[len(own):]
	switch {
	case bare == "" || !strings.Contains(head, "\n") || strings.Contains(own, "\n"):
		return fresh
	case own == "":
		return head + bare
	}
	return head[:strings.LastIndexByte(head, '\n')+1] + own + bare
}

// around is the text before and after a range on the lines of the file that it starts and ends on. Where old_string
// begins or ends with a line break that is the line which would be joined.
func (t *Text) around(at Range) (before, after string) {
	first, last := t.lines[t.lineAt(at.Start)], t.lines[t.lineAt(min(at.End, len(t.data)-1))]
	return string(t.data[first.start:at.Start]), string(t.data[min(at.End, last.end):last.end])
}

// widenToLine widens a range to the start of its line when nothing but indentation is before it and the next line
// would be indented by it: all of the range is deleted and it ends with the line, the first line goes and a later
// one stays, or a blank line comes.
func (t *Text) widenToLine(r *reading, at Range) Range {
	before, _ := t.around(at)
	if before == "" || !isBlankString(before) || at.End == at.Start {
		return at
	}
	first, lines := firstLine(r.new), strings.Split(string(r.old.data), "\n")
	kept := leading([]byte(first)) != "" && leading(r.old.data) == "" && slices.Contains(lines[1:], first)
	comes := strings.HasPrefix(r.new, "\n") && !bytes.HasPrefix(r.old.data, newline)
	if kept || comes || r.new == "" && t.data[at.End-1] == '\n' {
		at.Start -= len(before)
	}
	return at
}

// keepLineComment is for an exact match that ends before the comment, the backslash or the separator at the end of a
// line, or within a word: where new_string has that line farther up, the rest of the line stays with it. When that line
// goes and one that stays would get the rest, a separator goes as well, and all else is refused.
func (t *Text) keepLineComment(r *reading, at Range) (out *reading, place Range, refusal *Refusal) {
	last := t.lineAt(at.End)
	l := t.lines[last]
	if at.End <= l.start || at.End >= l.end || isBlank(t.data[at.End:l.end]) {
		return r, at, nil
	}
	behind, comment := t.data[at.End:l.end], t.commentStart(last)
	sign := t.separator(behind)
	cut := sign != "" || string(bytes.TrimSpace(behind)) == `\` || insideWord(t.data, at.End) ||
		comment < at.End || comment == l.end && t.commentOnly(last) // or a comment that is cut off
	if !cut && (comment == l.end || !isBlank(t.data[at.End:comment])) {
		return r, at, nil
	}
	old, fresh := strings.Split(string(toLF(r.old.data)), "\n"), strings.Split(string(toLF([]byte(r.new))), "\n")
	key := func(s string) string { return squeeze([]byte(s)) }
	was, is := key(old[len(old)-1]), key(fresh[len(fresh)-1])
	best, most, rest := -1, minSameLine, string(behind)
	pairs := counterparts(r.old, newSource(toLF([]byte(r.new)), nil))
	for i, s := range fresh {
		other := i < len(pairs) && pairs[i] >= 0 && pairs[i] < len(old)-1 && key(old[pairs[i]]) == key(s) // a line that stays
		like := max(similarity(was, key(s)), similarity(was, key(strings.TrimSuffix(key(s), key(rest)))))
		if like >= most && !other {
			best, most = i, like
		}
	}
	written := best >= 0 && best < len(fresh)-1 && strings.HasSuffix(key(fresh[best]), key(rest)) &&
		!strings.HasSuffix(was, key(rest))
	comes := newSource([]byte(fresh[len(fresh)-1]), t.syntax)
	ends := endsStatement(fresh[len(fresh)-1]) && !comes.commentOnly(0)
	before, _ := t.around(at)
	gone := r.new == "" && isBlankString(before) || len(fresh) > 1 && is == "" ||
		is != "" && slices.ContainsFunc(old[:len(old)-1], func(s string) bool { return key(s) == is })
	switch {
	case sign != "" && best < 0 && was != "" && gone: // the sign goes with its line
		return r, Range{at.Start, l.end}, nil
	case written && (sign == "" || !ends): // and would come behind another line for a second time
		return r, Range{at.Start, l.end}, nil
	case was == "" || was == is || len(fresh) == 1 && len(old) == 1 || best == len(fresh)-1,
		sign != "" && (best < 0 || strings.HasSuffix(fresh[best], sign)):
		return r, at, nil
	case sign != "" && ends: // as the line that comes does
		fresh[len(fresh)-1] += sign
	case best >= 0:
	case len(fresh) > 1 && is == "" && !insideWord(t.data, at.End),
		is != "" && slices.ContainsFunc(old[:len(old)-1], func(s string) bool { return key(s) == is }):
		refusal = t.conflictAt(at, "the line that it ends in goes on, and its rest would come behind another line")
		refusal.Hint = "Include all of that line in old_string, and in new_string where it shall be."
		return r, at, refusal
	default:
		return r, at, nil
	}
	fresh[best] += rest
	out = r.with(strings.Join(fresh, "\n"), "What the file has behind old_string stays on its line.")
	out.old = newSource(append(slices.Clone(r.old.data), rest...), t.syntax)
	return out, Range{at.Start, l.end}, nil
}

// commentedOut refuses an exact match that begins within the comment of a line, where new_string has another line
// before that one: it would become a part of the comment.
func (t *Text) commentedOut(r *reading, at Range) *Refusal {
	if before, _ := t.around(at); isBlankString(before) || isBlankString(firstLine(r.new)) {
		return nil
	}
	all := t.commentsFrom(at.Start)
	if len(all) == 0 || all[0].Start >= at.Start || all[0].Start < t.lines[t.lineAt(at.Start)].start {
		return nil
	}
	if i := slices.Index(counterparts(r.old, newSource(toLF([]byte(r.new)), nil)), 0); i <= 0 {
		return nil
	}
	refusal := t.conflictAt(at,
		"it begins within a comment there, and the first line of new_string would become a part of that")
	refusal.Hint = "Give the line of the comment from its start, in both strings."
	return refusal
}

// separator is the sign that the rest of a line consists of, if it separates that line from the next, or else "".
func (t *Text) separator(rest []byte) string {
	sign := string(bytes.TrimRight(rest, blanks))
	if sign != ";" && sign != "," || t.syntax == nil && t.ext != "json" || t.prose() {
		return ""
	}
	return sign
}

// endsStatement reports whether a line ends as a statement or an element of a list does, but for a separator.
func endsStatement(s string) bool {
	r := lastRune([]byte(strings.TrimRight(s, spaces)))
	return wordRune(r) || strings.ContainsRune(")]}\"'`", r)
}

// insertedBefore reports that an exact match of old_string is a part of new_string already, and where that is.
// Brackets and words that only close something are often needed twice, and do not count.
func (t *Text) insertedBefore(r *reading, at Range) (there Range, ok bool) {
	const form = trailingBlanks // indentation counts: a block may be moved
	fresh, old := normalize(newSource([]byte(r.new), t.syntax), form).trimmed(), normalize(r.old, form).trimmed()
	if len(fresh.text) <= len(old.text) || !bytes.Contains(fresh.text, old.text) ||
		!informative(strings.Replace(string(fresh.text), string(old.text), " ", 1)) {
		return there, false
	}
	head, tail := outerSpace(string(t.data[at.Start:at.End]))
	for _, got := range t.occurrencesAt(at, form, fresh) {
		if got.Start <= at.Start+len(head) && got.End >= at.End-len(tail) {
			return got, true
		}
	}
	return there, false
}

// closers are words that end a block or a branch.
var closers = setOf(strings.Fields("end fi done esac endif endfor endwhile endfunction else begin break return pass " +
	"continue null None nil true false"))

// informative reports that an inserted text is more than brackets, closing tags and words that end a block.
func informative(s string) bool {
	for f := range strings.FieldsSeq(s) {
		w := strings.Trim(f, "(){}[]<>;,.")
		if !strings.HasPrefix(f, "</") && alnums([]byte(w)) > 0 && !closers[w] {
			return true
		}
	}
	return false
}
