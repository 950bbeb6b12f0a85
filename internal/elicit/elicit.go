// Package elicit reads questions to a person, in the form of MCP's elicitation, and checks them and their answers. Both
// ends use it: the sdk before a tool asks, the host before a person is asked and before a tool gets the answer.
package elicit

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// method is that of a question to a person among MCP's input requests.
const method = "elicitation/create"

// Limits of a question, in bytes.
const (
	maxMessage = 4 << 10
	maxForm    = 32 << 10 // its schema
	maxAnswer  = 64 << 10
)

// The actions of an answer.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// A Question is one to a person.
type Question struct {
	Mode            string          `json:"mode,omitempty"` // "form", which is the same as "", or "url"
	Message         string          `json:"message"`
	URL             string          `json:"url,omitempty"` // to open, in the mode "url"
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`
}

// Read returns the question of an input request, and false for one that is no question to a person.
func Read(request json.RawMessage) (q *Question, is bool, err error) {
	var in struct {
		Method string
		Params Question
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, false, fmt.Errorf("it cannot be read: %w", err)
	}
	if in.Method != method {
		return nil, false, nil
	}
	return &in.Params, true, nil
}

// Request is the input request of a question in the mode "form".
func (q *Question) Request() json.RawMessage {
	out, _ := json.Marshal(map[string]any{"method": method, "params": map[string]any{"mode": "form",
		"message": q.Message, "requestedSchema": q.RequestedSchema}}) // the schema was checked
	return out
}

// Check returns what is wrong with a question: it is over a limit.
func (q *Question) Check() error {
	switch {
	case len(q.Message) > maxMessage:
		return fmt.Errorf("the question has %d bytes; the limit is %d (4 KiB)", len(q.Message), maxMessage)
	case len(q.RequestedSchema) > maxForm:
		return fmt.Errorf("the form of the question has %d bytes; the limit is %d (32 KiB)", len(q.RequestedSchema), maxForm)
	}
	return nil
}

// An Answer is a person's.
type Answer struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"` // a JSON object, of an accepted form
}

// ReadAnswer reads an answer. Whether it fits its form is checked by who made that.
func ReadAnswer(raw json.RawMessage) (a Answer, err error) {
	if len(raw) > maxAnswer {
		return a, fmt.Errorf("the answer has %d bytes; the limit is %d (64 KiB)", len(raw), maxAnswer)
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("the answer cannot be read: %w", err)
	}
	switch a.Action {
	case Accept:
	case Decline, Cancel:
		a.Content = nil
	default:
		return a, fmt.Errorf("the answer has the action %.40q, which is none of accept, decline, cancel", a.Action)
	}
	return a, nil
}

// ReadAnswer reads an answer to a question in the mode "form", and checks it against the form.
func (q *Question) ReadAnswer(raw json.RawMessage) (Answer, error) {
	a, err := ReadAnswer(raw)
	if err != nil || a.Action != Accept {
		return a, err
	}
	form, err := ParseForm(q.RequestedSchema)
	if err == nil {
		if len(a.Content) == 0 || string(a.Content) == "null" {
			a.Content = json.RawMessage("{}")
		}
		a.Content, err = form.Check(a.Content)
	}
	if err != nil {
		return a, fmt.Errorf("the answer does not fit the question: %w", err)
	}
	return a, nil
}

// errForm is of a schema that is no form.
var errForm = errors.New("it is not a form: a form is an object of texts, numbers, yes or no, and choices")

// Waiting are the calls of a plugin that wait for answers, by the ids that their callers have.
type Waiting[T comparable] struct {
	mu   sync.Mutex
	byID map[string]T
}

// maxWaiting is how many calls of a plugin may wait.
const maxWaiting = 64

// Add reports false if too many wait.
func (w *Waiting[T]) Add(id string, call T) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.byID) >= maxWaiting {
		return false
	}
	if w.byID == nil {
		w.byID = map[string]T{}
	}
	w.byID[id] = call
	return true
}

// Get returns a call, which stays; the zero value if there is none.
func (w *Waiting[T]) Get(id string) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byID[id]
}

// Take ends the wait of a call. It reports false if another one has taken it; of those that report true then runs.
func (w *Waiting[T]) Take(id string, call T, then func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if own, is := w.byID[id]; !is || own != call {
		return false
	}
	delete(w.byID, id)
	then()
	return true
}
