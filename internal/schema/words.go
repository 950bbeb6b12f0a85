package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// maxQuoted bounds, in code points, what is shown of any one value, name or pattern.
const maxQuoted = 60

// quote is s in quotes, control characters escaped, cut at a code point with an ellipsis when it is long.
func quote(s string) string {
	var b strings.Builder
	room := maxQuoted - 3
	for _, r := range s {
		shown := strconv.Quote(string(r))
		shown = shown[1 : len(shown)-1]
		if room -= len([]rune(shown)); room < 0 {
			b.WriteString("…")
			break
		}
		b.WriteString(shown)
	}
	return `"` + b.String() + `"`
}

// shorten cuts s at a code point to at most limit of them.
func shorten(s string, limit int) string {
	for i := range s {
		if limit--; limit < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// show is a value as it is shown in a message. What is inside an object or array is not shown.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case json.Number:
		return shorten(v.String(), 30)
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return "null"
	}
	return kindOf(v).String()
}

// showTyped is show with the type in front, for when the type is what is wrong.
func showTyped(v any) string {
	switch kindOf(v) {
	case kindString, kindNumber, kindBoolean:
		return kindOf(v).String() + " " + show(v)
	}
	return show(v)
}

// showWhole is a value of the schema (const, enum), containers as short JSON.
func showWhole(v any) string {
	switch v.(type) {
	case map[string]any, []any:
		if b, err := json.Marshal(v); err == nil {
			return shorten(string(b), maxQuoted)
		}
	}
	return show(v)
}

func plural(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(one, "y"))
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// listed joins words, as many as stay readable.
func listed(words []string, sep string) string {
	const most, room = 40, 400
	size := 0
	for i, w := range words {
		if size += len(w) + len(sep); i == most || size > room {
			return strings.Join(words[:i], sep) + fmt.Sprintf("%s… (%d in all)", sep, len(words))
		}
	}
	return strings.Join(words, sep)
}

// either joins words with commas and a last "or".
func either(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}

func article(kind string) string {
	switch {
	case kind == "null":
		return kind
	case strings.ContainsRune("aio", rune(kind[0])):
		return "an " + kind
	}
	return "a " + kind
}

// typeWords is "an integer" or "string, integer or null".
func typeWords(words []string) string {
	if len(words) == 1 {
		return article(words[0])
	}
	return either(words)
}

// packedHint recognizes the commonest slip of models: the value as JSON inside a string.
func packedHint(want kind, v any) string {
	s, ok := v.(string)
	if !ok {
		return ""
	}
	s = strings.TrimSpace(s)
	object := want&kindObject != 0 && strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}")
	array := want&kindArray != 0 && strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]")
	if object || array {
		return "; write the JSON itself, not a string with JSON in it"
	}
	return ""
}

func (c *checker) enumWords(allowed []any, got any, at *place) string {
	shown, meant := c.show(got, at), ""
	if _, there := c.name(at); !there {
		meant = nearestValue(allowed, got)
	}
	if len(allowed) == 1 {
		return fmt.Sprintf("%s, got %s", showWhole(allowed[0]), shown)
	}
	words := make([]string, len(allowed))
	for i, v := range allowed {
		words[i] = showWhole(v)
	}
	return fmt.Sprintf("one of %s; got %s%s", listed(words, ", "), shown, meant)
}

func nearestValue(allowed []any, got any) string {
	s, ok := got.(string)
	if !ok {
		return ""
	}
	var names []string
	for _, v := range allowed {
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	return didYouMean(nearest(s, names))
}
