package textutil

import "strings"

var (
	pointerEscapes   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// EscapePointer returns name as one reference token of a JSON Pointer (RFC 6901, section 3).
func EscapePointer(name string) string { return pointerEscapes.Replace(name) }

// UnescapePointer returns the name that a reference token of a JSON Pointer means.
func UnescapePointer(token string) string { return pointerUnescapes.Replace(token) }
