package supervise

import (
	"encoding/json"
	"errors"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/sdk"
)

// A ConfigProblem is one error in the configuration of a plugin. It is in the details of the *sdk.Error with which
// the plugin cannot be used.
type ConfigProblem struct {
	Path    string `json:"path,omitempty"` // where in the configuration, such as server.port; "" for the whole
	Message string `json:"message"`        // what is wrong, with the path
}

// ConfigProblems are those that prevent the use of a plugin, none if the error is about something else. At most five
// are listed; more is the number of others.
func ConfigProblems(err error) (plugin string, problems []ConfigProblem, more int) {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return "", nil, 0
	}
	var details struct {
		Plugin   string          `json:"plugin"`
		Problems []ConfigProblem `json:"problems"`
		More     int             `json:"more"`
	}
	if json.Unmarshal(e.Details, &details) != nil {
		return "", nil, 0
	}
	return details.Plugin, details.Problems, details.More
}

// A configError has the errors in a plugin's configuration: those that its schema finds, or the one that the plugin
// itself returns.
type configError struct {
	reason  string
	invalid *schema.Invalid
	refusal *sdk.Error
}

func (e *configError) Error() string {
	if e.refusal != nil {
		return e.reason + e.refusal.Message
	}
	return e.reason + e.invalid.Error()
}

// problems are those of the error, without the values that hide removes. A plugin names the setting that it refuses
// in the details of its error, as path.
func (e *configError) problems(hide func(string) string) (out []ConfigProblem, more int) {
	if e.refusal != nil {
		var details struct {
			Path string `json:"path"`
		}
		_ = json.Unmarshal(e.refusal.Details, &details) // without a path it is about the whole
		return []ConfigProblem{{hide(details.Path), hide(e.reason + e.refusal.Message)}}, 0
	}
	for _, p := range e.invalid.Problems {
		path := p.Path
		if p.Property != "" && path != "" {
			path += "."
		}
		out = append(out, ConfigProblem{hide(path + p.Property), hide(e.reason + p.String())})
	}
	return out, e.invalid.More
}
