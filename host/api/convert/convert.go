// Package convert turns the values of package host into messages of the API, and back for its clients. JSON is passed
// on byte for byte.
package convert

import (
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/approvals"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// Text makes a text valid UTF-8, which the API's strings must be.
func Text[T ~string | ~[]byte](text T) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// Each converts each of them.
func Each[From, To any](all []From, convert func(From) To) []To {
	out := make([]To, len(all))
	for i, one := range all {
		out[i] = convert(one)
	}
	return out
}

// Texts is Text for each of them.
func Texts(all []string) []string { return Each(all, Text[string]) }

// Time is nil for the zero time.
func Time(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// Raw is nil for an empty text.
func Raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// Result returns the message of a call's outcome.
func Result(r *host.Result) *apiv1.CallResult {
	return &apiv1.CallResult{CallId: Text(r.CallID), Tool: Text(r.Tool), Plugin: r.Plugin, Status: r.Status,
		Content: Contents(r.Content), Structured: Text(r.Structured), Error: Error(r.Error),
		InputRequired: InputRequired(r.InputRequired), Extra: Text(r.Extra), Truncated: r.Truncated,
		KeptFiles: Texts(r.KeptFiles), Duration: durationpb.New(r.Duration), Attempts: int32(r.Attempts),
		Generation: int32(r.Generation)}
}

// ToResult is the reverse of Result.
func ToResult(r *apiv1.CallResult) *host.Result {
	out := &host.Result{CallID: r.CallId, Tool: r.Tool, Plugin: r.Plugin, Status: r.Status,
		Structured: Raw(r.Structured), Error: toError(r.Error), Extra: Raw(r.Extra), Truncated: r.Truncated,
		KeptFiles: r.KeptFiles, Duration: r.Duration.AsDuration(), Attempts: int(r.Attempts),
		Generation: int(r.Generation)}
	out.Content = toContents(r.Content)
	if q := r.InputRequired; q != nil {
		out.InputRequired = &sdk.InputRequired{Requests: ToRaws(q.Requests), State: q.State}
	}
	return out
}

// Contents returns the messages of the parts of a result.
func Contents(parts []sdk.Content) []*apiv1.Content {
	out := make([]*apiv1.Content, len(parts))
	for i := range parts {
		c := &parts[i]
		out[i] = &apiv1.Content{Type: Text(c.Type), Text: Text(c.Text), Data: c.Data, MimeType: Text(c.MIMEType),
			Uri: Text(c.URI), Name: Text(c.Name), Raw: Text(c.Raw), Extra: Text(c.Extra), Source: Text(c.Source)}
	}
	return out
}

func toContents(parts []*apiv1.Content) (out []sdk.Content) {
	for _, c := range parts {
		out = append(out, sdk.Content{Type: c.Type, Text: c.Text, Data: c.Data, MIMEType: c.MimeType,
			URI: c.Uri, Name: c.Name, Raw: Raw(c.Raw), Extra: Raw(c.Extra), Source: Raw(c.Source)})
	}
	return out
}

// Error is nil for nil.
func Error(e *sdk.Error) *apiv1.ToolError {
	if e == nil {
		return nil
	}
	return &apiv1.ToolError{Code: string(e.Code), Name: Text(e.Name), Message: Text(e.Message),
		Suggestion: Text(e.Suggestion), HelpUrl: Text(e.HelpURL), Retryable: e.Retryable, Outcome: string(e.Outcome),
		Details: Text(e.Details)}
}

// toError is the reverse of Error.
func toError(e *apiv1.ToolError) *sdk.Error {
	if e == nil {
		return nil
	}
	return &sdk.Error{Code: sdk.Code(e.Code), Name: e.Name, Message: e.Message, Suggestion: e.Suggestion,
		HelpURL: e.HelpUrl, Retryable: e.Retryable, Outcome: sdk.Outcome(e.Outcome), Details: Raw(e.Details)}
}

// InputRequired is nil for nil.
func InputRequired(q *sdk.InputRequired) *apiv1.InputRequired {
	if q == nil {
		return nil
	}
	return &apiv1.InputRequired{Requests: Raws(q.Requests), State: Text(q.State)}
}

// Raws is Text for each JSON text of a map.
func Raws(all map[string]json.RawMessage) map[string]string {
	out := make(map[string]string, len(all))
	for k, v := range all {
		out[Text(k)] = Text(v)
	}
	return out
}

// ToRaws is the reverse of Raws; nil for an empty map.
func ToRaws(all map[string]string) map[string]json.RawMessage {
	if len(all) == 0 {
		return nil
	}
	out := make(map[string]json.RawMessage, len(all))
	for k, v := range all {
		out[k] = json.RawMessage(v)
	}
	return out
}

// Event returns the message of an event that happened at a time. The data is not copied.
func Event(e *sdk.Event, at time.Time) *apiv1.Event {
	out := &apiv1.Event{Type: string(e.Type), Time: timestamppb.New(at), Done: e.Done, Total: e.Total,
		Message: Text(e.Message), Stream: Text(e.Stream), Data: e.Data}
	if e.Type == sdk.EventLog {
		out.Level, out.Attributes = strings.ToLower(e.Level.String()), Text(e.Attributes)
	}
	return out
}

// ToEvent is the reverse of Event.
func ToEvent(e *apiv1.Event) sdk.Event {
	out := sdk.Event{Type: sdk.EventType(e.Type), Done: e.Done, Total: e.Total, Message: e.Message,
		Stream: e.Stream, Data: e.Data}
	if out.Type == sdk.EventLog {
		var level slog.Level
		_ = level.UnmarshalText([]byte(e.Level)) // what it wrote itself
		out.Level, out.Attributes = level, Raw(e.Attributes)
	}
	return out
}

// Tool returns the message of a tool, with its schemas and the whole definition if those are asked for.
func Tool(t *host.Tool, schemas bool) *apiv1.Tool {
	out := &apiv1.Tool{Name: t.Name, Plugin: t.Plugin, Title: Text(t.Title), Description: Text(t.Description),
		Hints: Hints(t.StatedHints()), HintsBelieved: t.Unbelieved == sdk.Hints{}, Category: Text(t.Category),
		CostTier: string(t.CostTier), Previews: t.Previews, Aliases: t.Aliases, OriginalName: Text(t.OriginalName),
		Unchecked: Texts(t.Unchecked), Stateful: t.Stateful, Invisible: int32(min(t.Invisible, 1<<30))}
	if t.Timeout > 0 {
		out.Timeout = durationpb.New(t.Timeout)
	}
	if schemas {
		definition, _ := json.Marshal(t) // it has a JSON form, since it came as one
		out.InputSchema, out.OutputSchema, out.Definition = Text(t.InputSchema), Text(t.OutputSchema), Text(definition)
	}
	return out
}

// ToTool is the reverse of Tool with schemas: for printing, not for calls.
func ToTool(t *apiv1.Tool) (*host.Tool, error) {
	out := &host.Tool{Plugin: t.Plugin, Aliases: t.Aliases, Unchecked: t.Unchecked, Invisible: int(t.Invisible)}
	if err := json.Unmarshal([]byte(t.Definition), &out.Tool); err != nil {
		return nil, err
	}
	if !t.HintsBelieved && t.Hints != nil {
		out.Unbelieved = sdk.Hints{ReadOnly: t.Hints.ReadOnly, Destructive: t.Hints.Destructive,
			Idempotent: t.Hints.Idempotent, OpenWorld: t.Hints.OpenWorld}
	}
	return out, nil
}

// Hints returns the message of hints.
func Hints(h sdk.Hints) *apiv1.Hints {
	return &apiv1.Hints{ReadOnly: h.ReadOnly, Destructive: h.Destructive, Idempotent: h.Idempotent, OpenWorld: h.OpenWorld}
}

// Decision returns the message of a decision.
func Decision(d policy.Decision) *apiv1.Decision {
	out := &apiv1.Decision{Effect: string(d.Effect), Rule: Text(d.Rule), Layer: Text(d.Layer), Source: Text(d.Source),
		Reason: Text(d.Reason)}
	for _, s := range d.Trace {
		out.Trace = append(out.Trace, &apiv1.DecisionStep{Layer: Text(s.Layer), Rule: Text(s.Rule), Source: Text(s.Source),
			Matched: s.Matched, Effect: string(s.Effect), Reason: Text(s.Reason), Note: Text(s.Note)})
	}
	return out
}

// toDecision is the reverse of Decision.
func toDecision(d *apiv1.Decision) policy.Decision {
	out := policy.Decision{Effect: policy.Effect(d.GetEffect()), Rule: d.GetRule(), Layer: d.GetLayer(),
		Source: d.GetSource(), Reason: d.GetReason()}
	for _, s := range d.GetTrace() {
		out.Trace = append(out.Trace, policy.Step{Layer: s.Layer, Rule: s.Rule, Source: s.Source, Matched: s.Matched,
			Effect: policy.Effect(s.Effect), Reason: s.Reason, Note: s.Note})
	}
	return out
}

// Preview is nil for nil.
func Preview(p *sdk.Preview) *apiv1.CallPreview {
	if p == nil {
		return nil
	}
	return &apiv1.CallPreview{Content: Contents(p.Content), Effect: Text(p.Effect), Reason: Text(p.Reason),
		Structured: Text(p.Structured)}
}

// Approvals returns the messages of questions.
func Approvals(all []*approvals.Question) []*apiv1.Approval { return Each(all, Approval) }

// Approval returns the message of a question.
func Approval(q *approvals.Question) *apiv1.Approval {
	out := &apiv1.Approval{Id: q.ID, Hash: q.Hash, CallId: Text(q.CallID()), Asked: Time(q.Asked),
		Expires: Time(q.Expires),
		Outcome: Outcome(q.Outcome)}
	via := (*host.Via)(nil)
	if r := q.Input; r != nil {
		out.Kind, via = apiv1.Approval_KIND_INPUT, r.Via
		out.Caller, out.SessionId, out.Tool = Text(r.Caller), Text(r.SessionID), Tool(r.Tool, false)
		out.Input = InputRequired(&sdk.InputRequired{Requests: r.Requests})
	}
	if r := q.Call; r != nil {
		out.Kind, via = apiv1.Approval_KIND_CALL, r.Via
		out.Caller, out.SessionId, out.Tool = Text(r.Caller), Text(r.SessionID), Tool(r.Tool, false)
		out.Workdir, out.Arguments, out.Preview = Text(r.Workdir), Text(r.Arguments), Preview(r.Preview)
		out.Decision, out.Prefix, out.Problem = Decision(r.Decision), Texts(r.Prefix), Text(r.Problem)
		out.OnceOnly = r.Once()
		level, reason := approvals.Risk(r)
		out.Risk, out.RiskReason = level, Text(reason)
	}
	if via != nil {
		out.ViaTool, out.ViaCallId = Text(via.Tool), Text(via.CallID)
	}
	return out
}

// ToApprovalRequest is the reverse of Approval, for who shows the question at a terminal.
func ToApprovalRequest(a *apiv1.Approval) *host.ApprovalRequest {
	r := &host.ApprovalRequest{CallID: a.CallId, Caller: a.Caller, SessionID: a.SessionId, Workdir: a.Workdir,
		Tool: toTool(a.Tool), Arguments: Raw(a.Arguments), Decision: toDecision(a.Decision), Prefix: a.Prefix,
		Problem: a.Problem, Via: toVia(a)}
	if a.Preview != nil {
		r.Preview = &sdk.Preview{Content: toContents(a.Preview.Content), Effect: a.Preview.Effect,
			Reason: a.Preview.Reason, Structured: Raw(a.Preview.Structured)}
	}
	if a.Expires != nil {
		r.Expires = a.Expires.AsTime()
	}
	return r
}

// ToInputRequest is the same for the questions of a tool.
func ToInputRequest(a *apiv1.Approval) *host.InputRequest {
	return &host.InputRequest{CallID: a.CallId, Caller: a.Caller, SessionID: a.SessionId, Tool: toTool(a.Tool),
		Via: toVia(a), Requests: ToRaws(a.Input.GetRequests())}
}

func toTool(t *apiv1.Tool) *host.Tool {
	return &host.Tool{Tool: sdk.Tool{Name: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(),
		Category: t.GetCategory(), CostTier: sdk.CostTier(t.GetCostTier())}, Plugin: t.GetPlugin()}
}

// toVia is the call of the plugin that makes the call; the plugin is the first part of its tool's name.
func toVia(a *apiv1.Approval) *host.Via {
	if a.ViaTool == "" && a.ViaCallId == "" {
		return nil
	}
	plugin, _, _ := strings.Cut(a.ViaTool, "__")
	return &host.Via{Plugin: plugin, Tool: a.ViaTool, CallID: a.ViaCallId}
}

// Outcome is nil for nil.
func Outcome(o *approvals.Outcome) *apiv1.ApprovalOutcome {
	if o == nil {
		return nil
	}
	return &apiv1.ApprovalOutcome{Answer: string(o.Result), By: Text(o.By), Scope: string(o.Scope), Reason: Text(o.Reason),
		Time: Time(o.Time)}
}

// Remembered returns the message of an approval that covers later calls.
func Remembered(r *host.Remembered) *apiv1.Remembered {
	return &apiv1.Remembered{Id: r.ID, Tool: r.Tool, Caller: Text(r.Caller), Scope: string(r.Scope),
		Arguments: Text(r.Arguments), Prefix: Texts(r.Prefix), Workdir: Text(r.Workdir), SessionId: Text(r.SessionID),
		Saved: r.Saved, Created: Time(r.Created)}
}
