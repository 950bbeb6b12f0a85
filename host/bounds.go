package host

// Limits bound the calls of one tool, or of all tools of one plugin together. Zero is no limit. A call over a limit is
// refused with CodeLimit: it never reaches the plugin and does not count as a failure of it.
type Limits struct {
	// Concurrency is how many calls run at once. Others wait in line for five minutes at most; that time is no part of their
	// own timeout. The callers in line take turns, and one caller's calls run in the order in which they came.
	Concurrency int
	// Queue is how many calls may wait for Concurrency; one more is refused at once, or the last of the caller who has most in
	// line, if the one more is of a caller with fewer. That of a plugin counts all that wait for any of its tools. Zero is 16
	// times Concurrency; below zero, none may wait.
	Queue int
	// Rate is how many calls a second there may be, in the long run; one too early is refused at once.
	Rate float64
	// Burst is how many calls Rate lets through at once after a pause; zero is as many as in one second, at least one.
	Burst int
	// MaxCalls is how many calls each session may make. Calls that were not run do not count. The host remembers the 10 000
	// sessions that called last; one that it had to forget starts anew.
	MaxCalls int
}

// PluginOptions are a user's settings for one plugin.
type PluginOptions struct {
	Limits
	// IgnoreHints makes what the plugin says of how its tools behave count for nothing: their hints, category and cost tier.
	IgnoreHints bool
}
