package lockfile

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
)

// A Change is one part of a definition, such as "description", that differs between two.
type Change struct {
	Part string
	// Lines are the old and the new text of the part. Each begins with "- " if it is only in the old one, "+ " if it is
	// only in the new one, and two spaces if it is context. Characters that cannot be seen are written as escapes.
	Lines []string
}

// Changes compares two definitions as host.Definition writes them, by the names of the parts.
func Changes(old, now json.RawMessage) (out []Change) {
	var a, b map[string]json.RawMessage
	_, _ = json.Unmarshal(old, &a), json.Unmarshal(now, &b) // other text has no parts
	parts := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(parts)
	for _, part := range slices.Compact(parts) {
		if !bytes.Equal(a[part], b[part]) {
			out = append(out, Change{part, diffLines(partText(a[part]), partText(b[part]))})
		}
	}
	return out
}

// partText writes a part of a definition for people: a change must not hide in invisible characters.
func partText(raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var b bytes.Buffer
		_ = json.Indent(&b, raw, "", "  ") // it is JSON
		text = b.String()
	}
	var out strings.Builder
	for _, r := range text {
		if r == '\n' || unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return out.String() + "\n"
}

// contextLines is how many lines are shown around a change.
const contextLines = 2

// diffLines returns the lines that differ and some around them. A gap is three dots.
func diffLines(old, now string) (out []string) {
	unified, err := udiff.ToUnified("", "", old, udiff.Lines(old, now), contextLines)
	if err != nil { // not reached: the edits are of this text
		return nil
	}
	for i, line := range strings.Split(strings.TrimSuffix(unified, "\n"), "\n") {
		switch {
		case i < 2: // the names of the files
		case !strings.HasPrefix(line, "@@"):
			out = append(out, line[:1]+" "+line[1:])
		case i > 2:
			out = append(out, "  ...")
		}
	}
	return out
}
