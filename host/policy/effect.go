package policy

// Effect is what a rule or a decision says of a call.
type Effect string

// The effects, from loose to strict.
const (
	Allow Effect = "allow" // it may run
	Ask   Effect = "ask"   // a person must say yes
	// AlwaysAsk wants a person's yes to this very call: no mode, no remembered answer and no automatic yes stands for it.
	AlwaysAsk Effect = "always_ask"
	Deny      Effect = "deny" // it must not run
)

// rank orders effects; "" is no word at all, and what is no effect counts as the strictest.
func (e Effect) rank() int {
	switch e {
	case "":
		return 0
	case Allow:
		return 1
	case Ask:
		return 2
	case AlwaysAsk:
		return 3
	}
	return 4
}

// Stricter says whether e leaves less than other does.
func (e Effect) Stricter(other Effect) bool { return e.rank() > other.rank() }

// Strictest gives the strictest of the effects, "" when there is none.
func Strictest(effects ...Effect) (strictest Effect) {
	for _, e := range effects {
		if e.Stricter(strictest) {
			strictest = e
		}
	}
	return strictest
}

// Asks says whether a person is asked.
func (e Effect) Asks() bool { return e == Ask || e == AlwaysAsk }

func (e Effect) valid() bool { return e == Allow || e.Asks() || e == Deny }
