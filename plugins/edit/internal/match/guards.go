package match

import (
	"regexp"
	"strings"
)

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
	if p := placeholder(c); p != "" {
		return &Refusal{Kind: Guard, Message: "new_string has the line " + quoteShort(p) + ", which stands for code left out. It would be written into the file as it is.",
			Hint: "Write new_string in full, or choose a smaller old_string that holds only what changes."}
	}
	return nil
}

// Lines that models put in place of code they do not want to repeat: what is left of the comment signs, brackets and dots
// around it says that something stays, and there are dots or a word for leaving out.
var (
	wrapping = regexp.MustCompile(`^[\s/#\-*<!;%{(\[>]+|[\s/*\->})\]]+$`)
	dots     = regexp.MustCompile(`\.\.\.|…`)
	leftOut  = regexp.MustCompile(`(?i)\b(rest|remainder|remaining|existing|unchanged|omitted|same as before|as before|previous code|other (code|methods|functions)|more code|your code|original code|snip|truncated)\b`)
	restOf   = regexp.MustCompile(`(?i)^((the )?(rest|remainder) of (the |this )?(\w+ ){0,2}(code|file|function|method|methods|class|implementation|content|logic|functions|imports)` +
		`|(existing|remaining) (code|content|implementation|methods?|functions?|lines?|logic|imports)|(code|rest|everything else|other (code|methods|functions)) (is |are )?(unchanged|omitted)|no changes? (here|below|above))( .{0,30})?$`)
)

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

func standsForMore(l string) bool {
	bare := wrapping.ReplaceAllString(l, "")
	if bare == l || bare == "" && !strings.Contains(l, "...") {
		bare = strings.TrimSpace(l)
	}
	isComment := bare != strings.TrimSpace(l) || strings.HasPrefix(bare, "...") || strings.HasPrefix(bare, "…")
	if len(bare) > 100 || !isComment {
		return false
	}
	text := strings.Trim(bare, ".… :()[]")
	return restOf.MatchString(text) || dots.MatchString(l) && len(strings.Fields(text)) <= 8 && leftOut.MatchString(text) && edgeDots(bare)
}

// edgeDots says that the dots are at the start or the end.
func edgeDots(s string) bool {
	s = strings.Trim(s, " :()[]")
	for _, d := range []string{"...", "…"} {
		if strings.HasPrefix(s, d) || strings.HasSuffix(s, d) {
			return true
		}
	}
	return false
}

// placeholder gives the first line of new_string that stands for code left out and that old_string does not have.
func placeholder(c Change) string {
	for l := range strings.SplitSeq(c.New, "\n") {
		if len(l) < 400 && standsForMore(l) && !strings.Contains(c.Old, strings.TrimSpace(l)) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}
