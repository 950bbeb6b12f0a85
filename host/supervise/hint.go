package supervise

import (
	"fmt"
	"regexp"
	"strings"
)

// hint tells what a confined plugin may do, and how it may do more.
func (s Sandbox) hint(f folders, readOnly []string) string {
	text := fmt.Sprintf("it is kept at the sandbox level %q and can write to %s%s and its TMPDIR only", s.level(), strings.Join(s.writable(f), ", "), butNot(readOnly))
	if len(s.writable(f)) == 0 {
		text = fmt.Sprintf("it is kept at the sandbox level %q and can write to its TMPDIR only", s.level())
	}
	more := `if that is what it lacks, its sandbox block allows more: write = ["FOLDER"], or level = "supervised"`
	if s.level() == Isolated {
		text += ", reads no more than it needs to run"
		more = `if that is what it lacks, its sandbox block allows more: read = ["FOLDER"], write = ["FOLDER"], network = true, or level = "confined"`
	}
	if len(s.Wrapper) > 0 {
		more += "; a wrapper that mounts needs to stand without a level"
	}
	return text + "; " + more
}

func butNot(readOnly []string) string {
	if len(readOnly) == 0 {
		return ""
	}
	return " (but not to " + strings.Join(readOnly, ", ") + ", whoever wants that names it)"
}

var notPermitted = regexp.MustCompile(`(?i)permission denied|operation not permitted|\bEACCES\b|\bEPERM\b|PermissionError|read-only file system|\bEROFS\b|resource busy|\bEBUSY\b|cross-device link|\bEXDEV\b`)

// withHint adds to what is said of a plugin's end what its sandbox may have had to do with it.
func (g *generation) withHint(err error) error {
	if err == nil || g.hint == "" || !notPermitted.MatchString(err.Error()+strings.Join(g.lastLines(), "\n")) {
		return err
	}
	return fmt.Errorf("%w (%s)", err, g.hint)
}

func (g *generation) lastLines() []string {
	if g.child == nil {
		return nil
	}
	return g.child.tail.last(tailLines)
}
