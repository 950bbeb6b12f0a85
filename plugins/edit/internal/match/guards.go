package match

import "strings"

// guard refuses changes that make no sense, whatever the file holds.
func (t *Text) guard(c Change) *Refusal {
	switch {
	case c.Old == "":
		return &Refusal{Kind: Guard, Message: "old_string is empty, which fits everywhere.",
			Hint: "To insert text, give a line that is there as old_string, and that line with the new text as new_string."}
	case strings.TrimSpace(c.Old) == "":
		return &Refusal{Kind: Guard, Message: "old_string is nothing but white space, which says no place.",
			Hint: "Include a line of text before or after it."}
	case c.Old == c.New:
		return &Refusal{Kind: Guard, Message: "old_string and new_string are the same, so nothing would change.",
			Hint: "Give the text as it shall be as new_string."}
	}
	return nil
}

// small is the size of a file that a refusal can show, which says more than that it is too small.
const small = 2000

// tooLong says that old_string, however it is read, says more than the whole file.
func (t *Text) tooLong(readings []*reading) bool {
	size := inked(t.data)
	if size < small {
		return false
	}
	for _, r := range readings {
		if inked(r.old.data) <= size {
			return false
		}
	}
	return true
}

// inked counts the bytes that are not white space.
func inked(b []byte) (n int) {
	for _, c := range b {
		if c > ' ' {
			n++
		}
	}
	return n
}

func guardTooLong() *Refusal {
	return &Refusal{Kind: Guard, Message: "old_string is longer than the whole file.", Hint: "Read the file again: this may be another one than you think."}
}
