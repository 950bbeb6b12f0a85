package host

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// A leftOut is a tool that a plugin declares and nobody can call.
type leftOut struct {
	name    string // in full
	plugin  string
	why     string
	refused *sdk.Error // the answer to a call of it, nil for what is no tool at all
}

func (e *leftOut) Error() string {
	return fmt.Sprintf("plugin %q: tool %s is left out: %s", e.plugin, shownName(e.name), e.why)
}

// shownName is a tool's name in a message: as it is, unless there is more in it than names may have.
func shownName(name string) string {
	name = cutText(name, 100)
	if strings.ContainsFunc(name, func(r rune) bool { return r == '\n' || r == '\t' || r == '"' || textutil.Invisible(r) }) || !utf8.ValidString(name) {
		return strconv.Quote(name)
	}
	return name
}

// nameOf gives the full name of a tool that was left out.
func nameOf(problem error) string {
	if out, ok := errors.AsType[*leftOut](problem); ok {
		return out.name
	}
	return ""
}

// A surplus is all that a plugin declares over the limit.
type surplus struct {
	plugin string
	tools  []sdk.Tool // by name
}

func (e *surplus) Error() string {
	return fmt.Sprintf("plugin %q declares %d tools, at most %d are allowed: those from %.70q on, by name, are left out",
		e.plugin, maxTools+len(e.tools), maxTools, e.tools[0].Name)
}

// concerns says whether a problem is why there is no tool of this full name.
func concerns(problem error, tool string) bool {
	if s, ok := errors.AsType[*surplus](problem); ok {
		return slices.ContainsFunc(s.tools, func(d sdk.Tool) bool { return fullName(s.plugin, d.Name) == tool })
	}
	return nameOf(problem) == tool
}
