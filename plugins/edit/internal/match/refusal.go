package match

// Kind says in a word why a change is refused.
type Kind string

// The kinds of refusals.
const (
	NotFound       Kind = "not_found"
	Ambiguous      Kind = "ambiguous"
	Conflict       Kind = "conflict"        // the place is known, but the file has something there that old_string does not know of
	AlreadyApplied Kind = "already_applied" // new_string is there already
	Guard          Kind = "guard"           // the change makes no sense, whatever the file holds
)

// A Refusal says why a change was not made and what would help. It is for a model.
type Refusal struct {
	Kind    Kind
	Message string // what is wrong, and where; a sentence or a few
	Hint    string // what to do next
	// Candidates are what comes closest to old_string, or all places (eight at most) where it fits.
	Candidates []Candidate
	// Count is the number of places where it fits, when Kind is Ambiguous.
	Count int
	// Diff shows how the best candidate differs, old_string against the file; it may be empty.
	Diff string
	// Excerpt is what the file has at the best candidate, or at all places where old_string fits, with line numbers.
	Excerpt string
	// Exact is the text of the best candidate as it is in the file, to be used as old_string if that is what was meant. It is
	// empty when nothing is close enough, or when it is too long to be repeated.
	Exact string
}

// A Candidate is a place in the file that comes near old_string.
type Candidate struct {
	StartLine  int     `json:"start_line"` // from 1
	EndLine    int     `json:"end_line"`   // itself included
	Similarity float64 `json:"similarity"` // 0 to 1
	Why        string  `json:"why,omitempty"`
}

func (r *Refusal) Error() string { return string(r.Kind) + ": " + r.Message }
