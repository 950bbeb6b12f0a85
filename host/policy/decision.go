package policy

import (
	"fmt"
	"slices"
)

// A Decision is the effect of a policy on a call, and why.
type Decision struct {
	Effect Effect `json:"effect"`
	// Rule, Layer and Source name the rule that decided; Layer is ByHints when none did.
	Rule   string `json:"rule"`
	Layer  string `json:"layer"`
	Source string `json:"source,omitempty"`
	Reason string `json:"reason"`
	// Trace lists every rule about the tool in the order of evaluation, and what changed the decision afterwards. Of a
	// Query that is Brief, rules that did not apply are left out.
	Trace []Step `json:"trace"`
}

// A Step is the result of one rule.
type Step struct {
	Layer  string `json:"layer"`
	Rule   string `json:"rule"`
	Source string `json:"source,omitempty"`
	// Matched says that the rule matched, which ends the evaluation of its layer.
	Matched bool `json:"matched"`
	// Effect is the rule's, "" for none. Without a match it is the least that holds.
	Effect Effect `json:"effect,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Note says why the rule did not match, or has another effect than it is written with.
	Note string `json:"note,omitempty"`
}

// Silenced says that the rule matched, and its allow was ignored because of TightenOnly.
func (s Step) Silenced() bool { return s.Matched && s.Effect == "" }

// Tighten returns a decision that is at least as strict as s. A looser step changes the trace alone; an unknown
// effect denies.
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

// By names the rule that decided.
func (d Decision) By() string {
	switch {
	case d.Layer == ByHints:
		return "its hints"
	case d.Layer == Floor:
		return fmt.Sprintf("toolhost's own rule %q", d.Rule)
	case d.Source == "":
		return fmt.Sprintf("rule %q of the %s layer", d.Rule, d.Layer)
	}
	return fmt.Sprintf("rule %q of the %s layer (%s)", d.Rule, d.Layer, d.Source)
}

// Why is the reason, or the rule that decided if there is none.
func (d Decision) Why() string {
	if d.Reason == "" {
		return d.By()
	}
	return d.Reason
}

// Effect is the outcome of a rule or a decision.
type Effect string

// The effects, from the most permissive to the strictest.
const (
	Allow Effect = "allow" // it may run
	Ask   Effect = "ask"   // a person must say yes
	// AlwaysAsk needs a person's approval to this very call: no mode, remembered or automatic answer replaces it.
	AlwaysAsk Effect = "always_ask"
	Deny      Effect = "deny" // it must not run
)

var effects = []Effect{"", Allow, Ask, AlwaysAsk, Deny}

// rank orders effects from the most permissive to the strictest; an unknown effect is as strict as Deny.
func (e Effect) rank() int {
	if i := slices.Index(effects, e); i >= 0 {
		return i
	}
	return len(effects) - 1
}

// Stricter reports whether e is stricter than other.
func (e Effect) Stricter(other Effect) bool { return e.rank() > other.rank() }

// Strictest returns the strictest of the effects, "" when there is none.
func Strictest(effects ...Effect) (strictest Effect) {
	for _, e := range effects {
		if e.Stricter(strictest) {
			strictest = e
		}
	}
	return strictest
}

// Asks reports whether a person is asked.
func (e Effect) Asks() bool { return e == Ask || e == AlwaysAsk }

func (e Effect) valid() bool { return e == Allow || e.Asks() || e == Deny }
