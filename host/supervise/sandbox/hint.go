package sandbox

import (
	"fmt"
	"strings"
)

// hint tells what a confined plugin may do, and how it may do more.
func (s Plan) hint(readOnly []string) string {
	text := fmt.Sprintf("it is kept at the sandbox level %q and can write to %s%s and its TMPDIR only", s.Box.Asked(), strings.Join(s.writable(), ", "), butNot(readOnly))
	if len(s.writable()) == 0 {
		text = fmt.Sprintf("it is kept at the sandbox level %q and can write to its TMPDIR only", s.Box.Asked())
	}
	more := `if that is what it lacks, its sandbox block allows more: write = ["FOLDER"], or level = "supervised"`
	if s.Box.Asked() == Isolated {
		text += ", reads no more than it needs to run"
		more = `if that is what it lacks, its sandbox block allows more: read = ["FOLDER"], write = ["FOLDER"], network = true, or level = "confined"`
	}
	if len(s.Box.Wrapper) > 0 {
		more += "; a wrapper that mounts needs to stand without a level"
	}
	return text + "; " + more
}

func butNot(readOnly []string) string {
	if len(readOnly) == 0 {
		return ""
	}
	return " (but not to " + strings.Join(readOnly, ", ") + ", unless its write names them)"
}
