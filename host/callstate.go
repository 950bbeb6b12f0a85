package host

import (
	"encoding/json"

	"github.com/toolhost/toolhost/sdk"
)

// A CallStatus says how far a call has come in its life.
type CallStatus string

// The statuses, in the order in which a call may take them. The last three are ends.
const (
	Generating       CallStatus = "generating"        // the model is still writing it
	Generated        CallStatus = "generated"         // it is complete
	AwaitingApproval CallStatus = "awaiting_approval" // a person is asked
	Calling          CallStatus = "calling"           // the tool runs
	Done             CallStatus = "done"              // the tool has answered
	Errored          CallStatus = "errored"           // it cannot be run, or failed
	Canceled         CallStatus = "canceled"          // the caller gave up
)

// ending is the last status of a call.
func ending(e *sdk.Error) CallStatus {
	switch {
	case e == nil:
		return Done
	case e.Code == sdk.CodeCanceled:
		return Canceled
	}
	return Errored
}

// A CallState is what is known of a call that a model is writing. It stays as it is when the call goes on.
type CallState struct {
	// Index is the call's place among those of the stream, from 0. It never changes.
	Index int
	// ID is the vendor's name for the call; "" while there is none.
	ID string
	// Tool is the full name, as far as it is known.
	Tool   string
	Status CallStatus
	// Arguments is the text so far, as the model wrote it: it may be no JSON yet, or never.
	Arguments json.RawMessage
	// Partial is for display while the text is not complete.
	Partial Partial
	// Err is nil unless Status is Errored. It is written for the model.
	Err *sdk.Error
}

// MarshalJSON writes the arguments as a string, since they need not be JSON.
func (s CallState) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Index     int        `json:"index"`
		ID        string     `json:"id"`
		Tool      string     `json:"tool"`
		Status    CallStatus `json:"status"`
		Arguments string     `json:"arguments"`
		Partial   Partial    `json:"partial,omitzero"`
		Err       *sdk.Error `json:"error,omitempty"`
	}{s.Index, s.ID, s.Tool, s.Status, string(s.Arguments), s.Partial, s.Err})
}
