package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/policy"
)

func TestMisnamed(t *testing.T) {
	t.Parallel()
	declared := map[string]map[string]bool{
		"shell__exec": {"command": true}, "edit__write": {"path": true, "content": true}, "edit__replace": {"path": true},
		"any__thing": nil,
	}
	for name, c := range map[string]struct{ tools, names, want []string }{
		"a name that is there": {[]string{"shell__*"}, []string{"command"}, nil},
		"one that is not": {[]string{"shell__*"}, []string{"comand", "command", "cmd"},
			[]string{"comand", "cmd"}},
		"no name at all":                          {[]string{"shell__*"}, nil, nil},
		"of a tool the rule is not about":         {[]string{"edit__replace"}, []string{"content"}, []string{"content"}},
		"of one of several":                       {[]string{"edit__*", "shell__*"}, []string{"content", "command"}, nil},
		"of none of several":                      {[]string{"edit__*", "shell__*"}, []string{"pth"}, []string{"pth"}},
		"a tool that takes any":                   {[]string{"any__*", "shell__*"}, []string{"x"}, nil},
		"a pattern for what is not here":          {[]string{"shell__*", "web__*"}, []string{"url"}, nil},
		"one pattern twice":                       {[]string{"shell__*", "shell__*"}, []string{"url"}, []string{"url"}},
		"about all tools, one of which takes any": {nil, []string{"url"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := policy.Rule{Tools: c.tools, Names: c.names}
			if d := cmp.Diff(c.want, r.Misnamed(declared)); d != "" && len(c.want)+len(r.Misnamed(declared)) > 0 {
				t.Error(d)
			}
		})
	}
	r := policy.Rule{Names: []string{"url"}}
	if got := r.Misnamed(nil); got != nil {
		t.Errorf("without any tool %q are told", got)
	}
}
