package sandbox

// ofOtherUser is not known.
func ofOtherUser(string) bool { return false }
