package policy

import "fmt"

// A Decision is what a policy says of a call, and why.
type Decision struct {
	Effect Effect `json:"effect"`
	// Rule, Layer and Source tell who said so; Layer is ByHints when no rule did.
	Rule   string `json:"rule"`
	Layer  string `json:"layer"`
	Source string `json:"source,omitempty"`
	Reason string `json:"reason"`
	// Trace lists every rule that is about the tool, in the order in which they were asked, and what changed the decision
	// since.
	Trace []Step `json:"trace"`
}

// A Step is what one rule came to.
type Step struct {
	Layer  string `json:"layer"`
	Rule   string `json:"rule"`
	Source string `json:"source,omitempty"`
	// Matched says that the rule spoke, and was the last of its layer to be asked.
	Matched bool `json:"matched"`
	// Effect is what it said, "" for nothing. It may be there without a match, as the least that holds.
	Effect Effect `json:"effect,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Note tells why the rule did not match, or not as it is written.
	Note string `json:"note,omitempty"`
}

// Silenced says that the rule matched and its layer is not trusted to allow.
func (s Step) Silenced() bool { return s.Matched && s.Effect == "" }

// Tighten gives a decision that is as strict as s at least. A step that is looser changes nothing but the trace; one
// with an effect that there is not denies.
func (d Decision) Tighten(s Step) Decision {
	if s.Effect != "" && !s.Effect.valid() {
		s.Effect = Deny
	}
	d.Trace = append(d.Trace[:len(d.Trace):len(d.Trace)], s)
	if s.Effect.Stricter(d.Effect) {
		d.Effect, d.Rule, d.Layer, d.Source, d.Reason = s.Effect, s.Rule, s.Layer, s.Source, s.Reason
	}
	return d
}

// Waive turns ask into allow, for the reason in s, and changes nothing else: always_ask and deny stay.
func (d Decision) Waive(s Step) Decision {
	if d.Effect != Ask {
		return d
	}
	s.Matched, s.Effect = true, Allow
	d.Trace = append(d.Trace[:len(d.Trace):len(d.Trace)], s)
	d.Effect, d.Rule, d.Layer, d.Source, d.Reason = Allow, s.Rule, s.Layer, s.Source, s.Reason
	return d
}

// By names who decided, in words.
func (d Decision) By() string {
	switch {
	case d.Layer == ByHints:
		return "its hints"
	case d.Source == "":
		return fmt.Sprintf("rule %q of the %s layer", d.Rule, d.Layer)
	}
	return fmt.Sprintf("rule %q of the %s layer (%s)", d.Rule, d.Layer, d.Source)
}

// Why is the reason, or who decided where there is none.
func (d Decision) Why() string {
	if d.Reason == "" {
		return d.By()
	}
	return d.Reason
}
