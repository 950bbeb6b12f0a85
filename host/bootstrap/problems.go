package bootstrap

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/sdk"
)

var (
	unusable = regexp.MustCompile(`(?s)^(plugin "([^"]+)" cannot be used: )(.*)$`)
	wrong    = "its configuration is wrong: "
	refused  = "it refused its configuration: "
	part     = regexp.MustCompile(`^([\w.\[\]-]+): `)
	unknown  = regexp.MustCompile(`^(?:[\w.\[\]-]+: )?unknown property "([^"]+)"`)
)

// located puts the place in the configuration before each mistake that a plugin has found in its own.
func located(c *config.Config, err error) []error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return []error{err}
	}
	m := unusable.FindStringSubmatch(e.Message)
	if m == nil {
		return []error{err}
	}
	var out []error
	words, several := strings.CutPrefix(m[3], wrong)
	if !several {
		return []error{fmt.Errorf("%s: %w", c.Locate(m[2], pathIn(strings.TrimPrefix(m[3], refused))), err)}
	}
	for _, mistake := range split(words) {
		out = append(out, fmt.Errorf("%s: %s%s%s", c.Locate(m[2], pathIn(mistake)), m[1], wrong, mistake))
	}
	return out
}

// split parts mistakes that stand in one line. What does not begin as a mistake belongs to the one before.
func split(words string) (out []string) {
	for piece := range strings.SplitSeq(words, "; ") {
		begins := part.MatchString(piece) && !strings.HasPrefix(piece, "allowed: ") || unknown.MatchString(piece)
		if begins || len(out) == 0 {
			out = append(out, piece)
		} else {
			out[len(out)-1] += "; " + piece
		}
	}
	return out
}

// pathIn is where in the plugin's configuration a mistake is, "" for the whole.
func pathIn(mistake string) (path string) {
	if m := part.FindStringSubmatch(mistake); m != nil {
		path = m[1]
	}
	if m := unknown.FindStringSubmatch(mistake); m != nil {
		path = strings.TrimPrefix(path+"."+m[1], ".")
	}
	return path
}
