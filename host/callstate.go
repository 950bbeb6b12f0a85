package host

import "github.com/toolhost/toolhost/sdk"

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
