package host

import (
	"github.com/toolhost/toolhost/host/internal/shelltool"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/shellcmd"
	"github.com/toolhost/toolhost/sdk"
)

// ReadOnlyLayer is a layer under which nothing is changed: tools whose hint says that they only read run, and shell
// commands of which every part is known to only read; all else is denied.
func ReadOnlyLayer(name string) policy.Layer {
	return policy.Layer{Name: name, Rules: []policy.Rule{
		{Name: "reads", Hints: policy.Hints{ReadOnly: sdk.Yes}, Effect: policy.Allow, Reason: "the tool only reads"},
		{Name: "commands-that-read", Categories: []string{shelltool.Category}, Judge: commandsThatRead, Reason: "only commands that read may run here"},
		{Name: "nothing-else", Effect: policy.Deny, Reason: "only calls that read are allowed here"},
	}}
}

func commandsThatRead(q *policy.Query) (policy.Judgement, error) {
	return shelltool.Judge(q, shelltool.Command, shellcmd.Rules{ReadOnly: true, Otherwise: string(policy.Deny)})
}
