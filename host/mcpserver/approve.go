package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// approvalKey is the key of the question whether a call may run.
const approvalKey = "toolhost_approval"

// approvalPending is the name of the error of a call that was made to find out that a person must be asked. The client
// makes it again with the answer.
const approvalPending = "ApprovalPending"

// CallsAgain reports whether an error of Hooks.Approver means that its client asks a person and makes the call again
// with the answer. The call must end with that error.
func CallsAgain(err error) bool {
	e, is := errors.AsType[*sdk.Error](err)
	return is && e.Name == approvalPending
}

// An approvalQuestion is the question whether a call may run, for a client that answers with the next request.
type approvalQuestion struct {
	params  json.RawMessage
	expires time.Time
}

// The decisions that a person may choose from.
const (
	decideApprove   = "approve"
	decideArguments = "approve, and the same arguments from now on"
	decidePrefix    = "approve, and from now on: "
	decideTool      = "approve, and every call of this tool from now on"
	decideDeny      = "deny"
)

// clientName is who answers, for the record and other approvers.
const clientName = "the MCP client"

// Approve asks the client whose call it is, if that can ask its user.
func (a clientAsker) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	answer, err := a.ask(ctx, r)
	answer.By = clientName
	return answer, err
}

func (clientAsker) ask(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	c, ok := ctx.Value(callKey{}).(*toolCall)
	if !ok {
		return host.Answer{}, host.ErrNoApprover
	}
	q := question{methodElicit, approvalForm(r, false)}
	if !c.declares(q) {
		return host.Answer{}, cannotAsk(r)
	}
	if r.Via != nil && c.r.isModern() { // the client answers by making the first call again
		return host.Answer{}, &sdk.Error{Code: sdk.CodeApprovalUnavailable, Name: "ApprovalUnavailable",
			Message: fmt.Sprintf("%s needs a person's approval (%s), and this MCP client can be asked about calls of "+
				"its own only, not about one that plugin %s makes; nothing was run", r.Tool.Name, r.Decision.Why(),
				r.Via.Plugin),
			Suggestion: fmt.Sprintf("Call %s directly, or ask the user to allow it with a rule for the caller %q.",
				r.Tool.Name, "plugin:"+r.Via.Plugin)}
	}
	if !c.r.isModern() {
		raw, err := c.ask(ctx, q)
		if err != nil {
			return host.Answer{}, err
		}
		return approvalAnswer(raw, r), nil
	}
	if answer, ok := c.answered(r); ok {
		return answer, nil
	}
	if c.changed {
		q.params = approvalForm(r, true)
	}
	c.pending = &approvalQuestion{q.params, r.Expires}
	return host.Answer{}, &sdk.Error{Code: sdk.CodeApprovalUnavailable, Name: approvalPending,
		Message: fmt.Sprintf("a person is asked through the MCP client whether %s may run; the client makes the call "+
			"again with the answer; nothing was run", r.Tool.Name), Retryable: true}
}

// answered returns the answer that came with the request, if it is one to this question. An approval is one of this
// call, its definition and the decision that asks for it. It is also one of the preview that the person was shown: if
// that has changed, the person is asked once more, and learns that it changes.
func (c *toolCall) answered(r *host.ApprovalRequest) (host.Answer, bool) {
	c.preview, c.decision = previewHash(r), decisionHash(r)
	st := c.state
	if st == nil || definitionHash(r.Tool) != st.Definition {
		return host.Answer{}, false
	}
	same := st.Decision == c.decision && (st.Preview == c.preview || st.AnyPreview)
	used := host.No("this approval was used already, for the same call; make the call again without requestState")
	if st.Approved {
		if same && !c.e.seal.use(st) {
			return used, true
		}
		c.approved, c.changed = same, !same
		return host.Yes(), same
	}
	raw := c.answers[approvalKey]
	if !st.Asks || raw == nil {
		return host.Answer{}, false
	}
	answer := approvalAnswer(raw, r)
	switch {
	case !answer.Approved:
	case !same:
		c.changed = true
		return host.Answer{}, false
	case !c.e.seal.use(st):
		return used, true
	}
	c.approved = answer.Approved
	return answer, true
}

func cannotAsk(r *host.ApprovalRequest) error {
	e := &sdk.Error{Code: sdk.CodeApprovalUnavailable, Name: "ApprovalUnavailable",
		Message: fmt.Sprintf("%s needs a person's approval (%s), and this MCP client cannot ask a person: it has no "+
			"elicitation; nothing was run", r.Tool.Name, r.Decision.Why()),
		Suggestion: "Use a tool that only reads, or ask the user to allow this call with a rule. If the client asks its " +
			"user before each call, the user can start the server with: toolhost mcp --approve client"}
	switch {
	case r.Fresh():
		e.Suggestion = "Only a person can approve this call, each time: ask the user to make it at a terminal with " +
			"toolhost call, or reach the goal another way."
	case r.PluginAsks(): // a rule would be written in vain
		e.Suggestion = "Use another tool. The plugin itself asks, and a rule does not change that: its README has what " +
			"does. If the client asks its user before each call, the user can start the server with: " +
			"toolhost mcp --approve client"
	}
	return e
}

// Limits of what a person is shown, in characters.
const (
	maxShownArguments = 2000
	maxShownPreview   = 4000
	maxShownReason    = 500
)

// approvalForm is the elicitation whether a call may run; changed says that the person has approved it with another
// preview. Nothing in it is chosen beforehand.
func approvalForm(r *host.ApprovalRequest, changed bool) json.RawMessage {
	lines := []string{"Allow the tool " + r.Tool.Name + " to run?",
		"Asked because: " + indented(shown(r.Decision.Why(), maxShownReason))}
	if r.Via != nil {
		lines = append(lines, "Called by: plugin "+r.Via.Plugin+", during a call of "+r.Via.Tool)
	}
	if risk := risks(r.Tool.Hints); risk != "" {
		lines = append(lines, "Risk: "+risk)
	}
	lines = append(lines, "Arguments: "+shownArguments(r.Arguments))
	if r.Preview != nil {
		var texts []string
		for _, part := range r.Preview.Content {
			texts = append(texts, part.Text)
		}
		if preview := shown(strings.Join(texts, "\n"), maxShownPreview); preview != "" {
			lines = append(lines, indented("What it would do:\n"+preview))
		}
	}
	if changed {
		lines = slices.Insert(lines, 1, "What it would do has changed since you approved it. If you approve now, it "+
			"runs even if that changes again.")
	}
	return sdk.Encode(map[string]any{
		"mode": "form", "message": strings.Join(lines, "\n"),
		"requestedSchema": map[string]any{"type": "object", "required": []string{"decision"}, "properties": map[string]any{
			"decision": map[string]any{"type": "string", "title": "Decision", "enum": decisions(r)},
			"reason":   map[string]any{"type": "string", "title": "Reason", "description": "Why not; the model reads it"},
		}},
	})
}

func decisions(r *host.ApprovalRequest) []string {
	if r.Once() { // nothing is remembered
		return []string{decideApprove, decideDeny}
	}
	out := []string{decideApprove, decideArguments}
	if r.Prefix != nil {
		out = append(out, decidePrefix+shown(strings.Join(r.Prefix, " "), maxShownReason)+" ...")
	}
	return append(out, decideTool, decideDeny)
}

// approvalAnswer reads what a client answered. Whatever is not clearly a yes is a no.
func approvalAnswer(raw json.RawMessage, r *host.ApprovalRequest) host.Answer {
	answer := rawjson.ObjectOf(raw)
	content := rawjson.ObjectOf(answer.Get("content"))
	reason := shown(text(content.Get("reason")), maxShownReason)
	switch action := text(answer.Get("action")); action {
	case "accept":
	case "decline":
		return host.No(reason)
	default:
		return host.No("the question was dismissed without an answer")
	}
	decision := text(content.Get("decision"))
	if !slices.Contains(decisions(r), decision) {
		return host.No("the MCP client sent no decision")
	}
	switch decision {
	case decideApprove:
		return host.Yes()
	case decideArguments:
		return host.Always(host.ScopeArguments)
	case decideTool:
		return host.Always(host.ScopeTool)
	case decideDeny:
		return host.No(reason)
	}
	return host.Always(host.ScopePrefix)
}

func risks(h sdk.Hints) string {
	var out []string
	for _, risk := range []struct {
		hint *bool
		text string
	}{{h.Destructive, "it may delete or overwrite"}, {h.OpenWorld, "it reaches things outside, such as the network"},
		{h.ReadOnly, "it says that it changes nothing"}} {
		if risk.hint != nil && *risk.hint {
			out = append(out, risk.text)
		}
	}
	return strings.Join(out, "; ")
}

// shown is a text for people: what cannot be seen is a sign, and a long text lacks its middle.
func shown(s string, limit int) string {
	visible, _ := textutil.Visible(s, '\ufffd')
	all := []rune(visible)
	more, end := len(all)-limit, limit/4
	if more <= 0 {
		return visible
	}
	return fmt.Sprintf("%s... (%d characters cut) ...%s", string(all[:limit-end]), more, string(all[len(all)-end:]))
}

// shownArguments cuts long values, so that none pushes another out of sight.
func shownArguments(arguments json.RawMessage) string {
	var compact bytes.Buffer
	_ = json.Compact(&compact, arguments) // they are valid
	members := rawjson.ObjectOf(compact.Bytes())
	if compact.Len() <= maxShownArguments {
		return shown(compact.String(), maxShownArguments)
	}
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = string(sdk.Encode(m.Name)) + ":" + shown(string(m.Value), maxShownArguments/len(members))
	}
	return shown("{"+strings.Join(texts, ",")+"}", 2*maxShownArguments)
}

// indented keeps the lines of a text from looking like those of the question.
func indented(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") }

// previewHash identifies what a person is shown, beside the call and the decision.
func previewHash(r *host.ApprovalRequest) string {
	raw, _ := json.Marshal([]any{r.Preview, r.Decision.Why()}) // it came as JSON
	return hashOf(raw)
}

// decisionHash identifies the decision that asks, without its words, and for whom and where the call would run: another
// server with the same key may have another work folder.
func decisionHash(r *host.ApprovalRequest) string {
	d := r.Decision
	return hashOf(sdk.Encode([]any{d.Effect, d.Rule, d.Layer, r.Fresh(), r.Caller, r.Workdir}))
}

// newState is the state of the next question of the call.
func (c *toolCall) newState(tool string) state {
	return state{Tool: tool, Definition: c.definition, Arguments: hashOf(c.arguments), Preview: c.preview,
		Decision: c.decision, AnyPreview: c.changed || c.state != nil && c.state.AnyPreview, Nonce: rand.Text(),
		Expires: time.Now().Add(stateTime)}
}
