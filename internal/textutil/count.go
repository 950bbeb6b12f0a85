package textutil

import (
	"fmt"
	"strings"
)

// Count is a number with what it counts, such as "1 tool", "2 tools" or "3 properties".
func Count(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(one, "y"))
	}
	return fmt.Sprintf("%d %ss", n, one)
}
