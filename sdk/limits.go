package sdk

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file holds the limits of what is small: names, words, JSON inside. Those of whole results are in parts.go, those of
// events in meter.go.

// Limits of a request's names, in bytes.
const (
	maxID      = 256  // of a call or a session
	maxWorkdir = 4096 // PATH_MAX of Linux
)

// Limits of the paths that a request names besides its arguments.
const (
	MaxPaths      = 10_000  // to leave out, and of roots
	maxPathsBytes = 1 << 20 // of both together
)

// Limits of a tool's words, in bytes. That of its name is in tool.go.
const (
	maxTitle    = 256
	maxCategory = 64
	maxOriginal = 1024
)

// Limits of what a plugin says of itself. The rest is cut: it is for people.
const (
	maxWord    = 100  // characters of its name, its version, its author kit
	maxNotice  = 2000 // characters
	maxNotices = 64
)

// Limits of one part of a result, in bytes.
const (
	maxType = 64
	maxMIME = 255
	maxURI  = 8 << 10
	maxName = 1 << 10
)

// Limits of the JSON in a result, as those of arguments.
const (
	maxJSONDepth = 64      // objects and arrays in each other
	maxJSONNodes = 100_000 // values
)

// maxDetails is the largest object of details of an error, in bytes; one that is larger is left out.
const maxDetails = 32 << 10

// maxStatus is how many characters of a gRPC status are shown.
const maxStatus = 4 << 10

// A bounded is a text with the most bytes that it may have.
type bounded struct {
	what, text string
	most       int
}

// tooLong names the first text that is over its limit, or gives "".
func tooLong(texts ...bounded) string {
	for _, b := range texts {
		if len(b.text) > b.most {
			return fmt.Sprintf("%s has %d bytes, at most %d are allowed", b.what, len(b.text), b.most)
		}
	}
	return ""
}

// shown is text on one line of at most so many characters, without any that cannot be seen.
func shown(text string, most int) string { return shownLines(text, most, ' ') }

// shownLines is shown with something else in the place of a line's end.
func shownLines(text string, most int, end rune) string {
	var out strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case most == 0:
			return out.String() + "... (cut)"
		case r == '\n':
			r = end
		case unicode.IsSpace(r):
			r = ' '
		case unicode.In(r, unicode.Cc, unicode.Cf):
			continue
		}
		out.WriteRune(r)
		most--
	}
	return out.String()
}

// notices gives those that are shown, each cut, and says how many more there are.
func notices(all []string) []string {
	var out []string
	for _, n := range all[:min(len(all), maxNotices)] {
		out = append(out, shownLines(n, maxNotice, '\n'))
	}
	if more := len(all) - maxNotices; more > 0 {
		out = append(out, fmt.Sprintf("... and %d more notices; at most %d are shown", more, maxNotices))
	}
	return out
}

// finite is what JSON can say of a number.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// jsonExcess says that valid JSON is nested too deep or has too many values, or gives "".
func jsonExcess(raw []byte) string {
	if len(raw) <= maxJSONDepth {
		return ""
	}
	switch depth, nodes := jsonWeight(raw); {
	case depth > maxJSONDepth:
		return fmt.Sprintf("is nested %d deep, at most %d are allowed", depth, maxJSONDepth)
	case nodes > maxJSONNodes:
		return fmt.Sprintf("has %d values, at most %d are allowed", nodes, maxJSONNodes)
	}
	return ""
}

// jsonWeight counts what decoding would cost. Empty objects and arrays count twice.
func jsonWeight(raw []byte) (depth, nodes int) {
	nodes = 1
	for i, open := 0, 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i+1)
		case '{', '[':
			open++
			nodes++
			depth = max(depth, open)
		case '}', ']':
			open--
		case ',':
			nodes++
		}
	}
	return depth, nodes
}

// stringEnd is where the quote is that ends the string whose text begins at i.
func stringEnd(raw []byte, i int) int {
	for i < len(raw) {
		n := bytes.IndexAny(raw[i:], `"\`)
		switch {
		case n < 0:
			return len(raw)
		case raw[i+n] == '"':
			return i + n
		}
		i += n + 2
	}
	return i
}

// cleanBytes is clean for bytes.
func cleanBytes(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}
