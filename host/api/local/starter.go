package local

// What a host says to the program that has started it.
const (
	// ReadyVar names the open file to which a host writes ReadyText when it serves, and otherwise why it does not.
	ReadyVar  = "TOOLHOST_READY_FILE"
	ReadyText = "ready\n"
	// MaxReason is how many bytes the starter reads: a pipe takes so many at once.
	MaxReason = 4 << 10
	// ExitLocked is with which code a host in the background ends when another process is the host.
	ExitLocked = 75
)
