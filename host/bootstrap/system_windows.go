package bootstrap

import (
	"fmt"
	"os"
)

// stamp is a text that differs for each state of a file; folders have none.
func stamp(path string) (state string, folder bool) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return "none", err == nil
	}
	return fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano()), false
}
