package match

import (
	"fmt"
	"strings"
)

// butFor says in what a text that a pass found may differ.
func butFor(pass int) string {
	if differences[pass] == "" {
		return ""
	}
	return " but for " + differences[pass]
}

var differences = [...]string{
	1: "", 2: "white space around it", 3: "blanks at the end of lines", 4: "indentation", 5: "line endings or forms of Unicode",
	6: "runs of blanks or blank lines", 7: "comments", 8: "a few words or lines", 9: "white space, line breaks and separators",
}

// warnings say for a model how its old_string differed from the file.
func (t *Text) warnings(f *finding) []string {
	var out []string
	switch f.reading.name {
	case "line numbers":
		out = append(out, "old_string had line numbers at the start of its lines, which the file does not have; they were left out.")
	case "diff":
		out = append(out, "old_string and new_string had the first column of a diff; it was left out. Give the text alone, without blanks, - and + before it.")
	case "fence":
		out = append(out, "old_string had the fence of a code block around it, which was left out.")
	case "quotation":
		out = append(out, "old_string had > at the start of its lines, which the file does not have; it was left out.")
	case "entities":
		out = append(out, "old_string was escaped for HTML: give <, >, & and quotes as they are.")
	case "escapes":
		out = append(out, "old_string was escaped once too often: give quotes, tabs and line breaks as they are.")
	}
	out = append(out, f.reading.notes...)
	if f.number == 1 {
		return out
	}
	said := "old_string was found by pass " + fmt.Sprint(f.number) + ", as it differs from the file in " + differences[f.number] + "."
	if f.number >= 3 && f.number <= 6 {
		said += t.blanksDiffer(f)
	}
	return append(out, said+" What you did not change was left as it is in the file.")
}

// blanksDiffer says which indentation the file has, when old_string has the other kind.
func (t *Text) blanksDiffer(f *finding) string {
	h := f.hits[0].Range
	l := t.lines[t.lineAt(h.Start)]
	file := string(t.data[l.start:h.End])
	switch old := string(f.reading.old.data); {
	case strings.Contains(file, "\t") && !strings.Contains(old, "\t"):
		return " The file has tabs there, old_string has spaces."
	case strings.Contains(old, "\t") && !strings.Contains(file, "\t"):
		return " The file has spaces there, old_string has tabs."
	}
	return ""
}

// similarWarnings says which lines of old_string were not as they are in the file.
func (t *Text) similarWarnings(r *reading, w *window) []string {
	out := []string{"old_string is not in the file as it is; the lines most like it were changed. Copy old_string from the file next time."}
	out = append(out, r.notes...)
	for i, k := range w.kinds {
		j := w.pairs[i]
		switch {
		case len(out) > 4:
			return out
		case j < 0 && r.index.significant(i):
			out = append(out, fmt.Sprintf("The file does not have the line %s.", quoteShort(r.index.keys[i])))
		case j >= 0 && k != same:
			out = append(out, fmt.Sprintf("Line %d is %s, not %s.", j+1, quoteShort(squeeze(t.text(j))), quoteShort(squeeze(r.old.text(i)))))
		}
	}
	return out
}
