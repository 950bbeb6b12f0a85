package supervise

import (
	"fmt"
	"regexp"
	"strings"
)

var notPermitted = regexp.MustCompile(`(?i)permission denied|operation not permitted|\bEACCES\b|\bEPERM\b|PermissionError|read-only file system|\bEROFS\b|resource busy|\bEBUSY\b|cross-device link|\bEXDEV\b`)

// withHint adds to what is said of a plugin's end what its sandbox may have had to do with it.
func (g *generation) withHint(err error) error {
	if err == nil || g.hint == "" || !notPermitted.MatchString(err.Error()+strings.Join(g.lastLines(), "\n")) {
		return err
	}
	return fmt.Errorf("%w (%s)", err, g.hint)
}

// advice is for a tool that failed with the message: what its sandbox may have had to do with it, or "".
func (g *generation) advice(message string) string {
	if g.hint == "" || !notPermitted.MatchString(message) {
		return ""
	}
	return fmt.Sprintf("The sandbox of the plugin may have refused it: %s.", g.hint)
}

func (g *generation) lastLines() []string {
	if g.child == nil {
		return nil
	}
	return g.child.tail.last(tailLines)
}
