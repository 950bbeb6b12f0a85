package host_test

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// What nobody means is denied whatever rules, modes and people allow, by every way that a command comes to a tool.
func TestFloor(t *testing.T) {
	t.Parallel()
	allows := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: policy.Allow}}}))
	tools := func() *fake {
		shell, other, reader := writes("exec"), writes("run"), tool("explain")
		shell.Category, other.Category = "shell", "terminal"
		reader.Hints = sdk.Hints{ReadOnly: sdk.Yes}
		for _, x := range []*sdk.Tool{&shell, &other, &reader} {
			x.InputSchema = []byte(`{"type":"object"}`)
		}
		return echoing(shell, other, reader)
	}
	for name, c := range map[string]struct {
		tool, arguments string
		denied          bool
	}{
		"a shell":                       {"exec", `{"command":"rm -rf /"}`, true},
		"behind sudo":                   {"exec", `{"command":"cd /tmp && sudo rm -rf --no-preserve-root /"}`, true},
		"in a folder":                   {"exec", `{"command":"rm -rf *","workdir":"/"}`, true},
		"typed into a shell":            {"exec", `{"command":"bash","stdin":"rm -rf ~"}`, true},
		"typed into another program":    {"exec", `{"command":"cat","stdin":"rm -rf ~"}`, false},
		"a script in a language":        {"exec", `{"command":"import os\nos.system('rm -rf /')","interpreter":"python3"}`, true},
		"a script that prints it":       {"exec", `{"command":"print('rm -rf /')","interpreter":"python3"}`, false},
		"another tool":                  {"run", `{"command":"mkfs.ext4 /dev/sda1"}`, true},
		"another tool, by other names":  {"run", `{"cmd":":(){ :|:& };:"}`, true},
		"another tool, a list of words": {"run", `{"command":["rm","-rf","/"]}`, true},
		"words that are one word":       {"run", `{"command":["echo","rm -rf /"]}`, false},
		"one that only reads":           {"explain", `{"command":"rm -rf /"}`, false},
		"everyday":                      {"exec", `{"command":"rm -rf ./build && echo 'rm -rf /'"}`, false},
		"no command":                    {"run", `{"command":7}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []host.Mode{host.ModeAsk, host.ModeAutoEdit} {
				a := &asked{answers: []host.Answer{host.Yes(), host.Yes()}}
				r := single(t, tools(), host.Options{Policy: allows, Mode: mode, Approver: a}).Call(t.Context(), call("test__"+c.tool, c.arguments))
				if !c.denied {
					succeeded(t, r)
					continue
				}
				e := failed(t, r, sdk.CodeDenied)
				if !strings.Contains(e.Message, `rule "catastrophe" of the floor layer`) || len(a.questions) > 0 {
					t.Errorf("mode %s: asked %d times: %s", mode, len(a.questions), e.Message)
				}
			}
			succeeded(t, single(t, tools(), host.Options{Policy: allows, WithoutFloor: true}).Call(t.Context(), call("test__"+c.tool, c.arguments)))
		})
	}
}
