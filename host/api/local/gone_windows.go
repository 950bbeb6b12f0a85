package local

// gone is false: a lock of Windows ends with its process, which has handed it to no other.
func gone(int) bool { return false }
