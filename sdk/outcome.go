package sdk

// An Outcome says what became of a call that failed: whether it is safe to make it again.
type Outcome string

// The outcomes.
const (
	// OutcomeNotSent: the plugin never got the call, so nothing was run.
	OutcomeNotSent Outcome = "not_sent"
	// OutcomeFailed: the plugin answered. The call ran to its end, whatever its error says of what it did; also when the
	// answer is too large to be used.
	OutcomeFailed Outcome = "failed"
	// OutcomeUnknown: the call may have done nothing, a part, or all. The plugin was sent it and did not answer: it died, its
	// connection broke, the deadline passed, or the caller gave up. Or its tool answered that it does not know (see Error).
	OutcomeUnknown Outcome = "outcome_unknown"
)
