package sdk

import "encoding/json"

// A Request is one call of one tool. A handler reads it and may tell through it what goes on meanwhile.
type Request struct {
	// CallID names this call in logs and results. The host's caller chose it, and may choose it again.
	CallID string
	// RunID is unique within a host: a plugin refuses a second run with an id that it has had. "" leaves that to CallID, if
	// there is one. A second attempt has the ids of the first.
	RunID string
	// Tool is the tool's own name, without the plugin.
	Tool string
	// Arguments is a JSON object, byte for byte what was checked and approved.
	Arguments json.RawMessage
	// Workdir is the folder that relative paths start from and file tools stay in. It is absolute.
	Workdir string
	// SessionID tells sessions of one host apart; it may be empty.
	SessionID string
	// Attempt is 1 for the first try.
	Attempt int
	// SingleCall is true when the host, and the plugin with it, ends after this call. A handler refuses what would have to
	// go on, such as a background job: it would be killed at once.
	SingleCall bool
	// LeaveOut are files and folders that a tool that is PathAware must not show, nor what is in them: relative to Workdir, or
	// absolute, with slashes.
	LeaveOut []string
	// Roots are absolute folders outside of Workdir in which a tool that is PathAware may read during this call.
	Roots []string

	// Listed is the tool as its plugin defined it when the call was decided on; nil when nobody knows. It stays with the host:
	// whoever keeps the plugin running does not make the call when the tool is another by then.
	Listed *Tool
	// Generation is the number of the start of the plugin that the call ran on. Whoever keeps the plugin running sets it.
	Generation int
	// Events receives what happens while the call runs; nil drops it. It must not block and is never called by two
	// goroutines at once.
	Events func(Event)
}
