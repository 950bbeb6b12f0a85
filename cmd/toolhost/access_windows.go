package main

import "os"

// mayWrite reports whether a file or folder is not marked as read-only. Access control lists are not examined.
func mayWrite(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o200 != 0
}
