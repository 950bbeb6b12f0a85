package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode"
)

// A Query is a call to decide on. It is for one goroutine, and its Arguments must not change: it caches what it found
// in them.
type Query struct {
	// Tool is the full name, Plugin the first part of it.
	Tool, Plugin string
	Hints        Hints
	// Unbelieved are hints of a third party that the operator does not trust. They can only make a decision stricter.
	Unbelieved         Hints
	Category, CostTier string
	// Caller is who makes the call; it may be empty.
	Caller string
	// Via is the plugin that makes the call on behalf of the caller, as "plugin:NAME"; "" when none does. Rules about
	// callers match either of the two.
	Via string
	// Arguments is a JSON object that fits the schema; Workdir is the absolute folder that the call runs in.
	Arguments json.RawMessage
	Workdir   string
	// Properties are the names of the arguments that the plugin's tools declare; nil when they are not known.
	Properties map[string]bool

	// Brief leaves rules that do not apply out of the trace, which is then mostly empty.
	Brief bool

	// Path, if not nil, replaces the paths that the arguments name: the decision is on the same call with this one. See
	// Policy.LooksAtPaths.
	Path *Path

	unsure bool
	fields members // none before the first use
	kept   []keptResult
}

// A keptResult is a result that Kept has stored under a key. There are as few as arguments that rules name, so a list
// serves.
type keptResult struct {
	key   string
	value any
}

// A Path is a file or folder by its name: relative to the work folder and clean, or absolute outside of it. Below
// stands for everything in the folder, of which only the beginning of the path is known.
type Path struct {
	Name  string
	Below bool
}

// Unsure says, after a decision on a query with a Path that is Below, that the decisions on the folder's content may
// differ.
func (q *Query) Unsure() bool { return q.unsure }

// About is the same query about another path.
func (q *Query) About(p Path) *Query {
	return &Query{Tool: q.Tool, Plugin: q.Plugin, Hints: q.Hints, Unbelieved: q.Unbelieved,
		Category: q.Category, CostTier: q.CostTier, Caller: q.Caller, Via: q.Via, Arguments: q.Arguments, Workdir: q.Workdir,
		Properties: q.Properties, Brief: q.Brief, Path: &p, fields: q.fields}
}

// Recall returns what Kept has kept under a key, or nil.
func (q *Query) Recall(key string) any {
	for i := range q.kept {
		if q.kept[i].key == key {
			return q.kept[i].value
		}
	}
	return nil
}

// Kept caches the result of work under the key: conditions of many rules use the same arguments.
func (q *Query) Kept(key string, work func() any) any {
	if i := slices.IndexFunc(q.kept, func(k keptResult) bool { return k.key == key }); i >= 0 {
		return q.kept[i].value
	}
	v := work()
	q.kept = append(q.kept, keptResult{key, v})
	return v
}

// Argument returns the JSON text of one top-level argument, or nil. Nothing is copied, so arguments that no rule
// names cost little.
func (q *Query) Argument(name string) json.RawMessage {
	if !q.fields.read {
		q.fields.split(q.Arguments)
	}
	return q.fields.get(name)
}

type members struct {
	few  []member // as long as they are few: a map takes five allocations more
	many map[string]json.RawMessage
	room [4]member
	read bool
}

type member struct {
	name  []byte // without its quotes and escapes
	value json.RawMessage
}

const fewMembers = 16

func (m *members) add(name []byte, value json.RawMessage) {
	if m.few = append(m.few, member{name, value}); len(m.few) <= fewMembers {
		return
	}
	if m.many == nil {
		m.many = map[string]json.RawMessage{}
	}
	for _, f := range m.few {
		m.many[string(f.name)] = f.value
	}
	m.few = m.few[:0]
}

// get returns the last of the members with a name, as other readers of JSON do.
func (m *members) get(name string) json.RawMessage {
	for i := len(m.few) - 1; i >= 0; i-- {
		if string(m.few[i].name) == name {
			return m.few[i].value
		}
	}
	return m.many[name]
}

// split finds the members of a JSON object, which is valid; of an invalid one it finds those before the mistake.
func (m *members) split(object json.RawMessage) {
	m.read, m.few = true, m.room[:0]
	for i := skipBlank(object, skipBlank(object, 0)+1); i < len(object) && object[i] == '"'; {
		end := skipValue(object, i)
		name, ok := unquote(object[i:end])
		if !ok {
			return
		}
		start := skipBlank(object, skipBlank(object, end)+1) // past the colon
		end = skipValue(object, start)
		if start >= end {
			return
		}
		m.add(name, object[start:end:end])
		i = skipBlank(object, skipBlank(object, end)+1) // past the comma
	}
}

// unquote returns the text of a JSON string.
func unquote(quoted []byte) (text []byte, ok bool) {
	needsDecoder := func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r > unicode.MaxASCII }
	if n := len(quoted) - 1; n > 0 && quoted[0] == '"' && quoted[n] == '"' &&
		!bytes.ContainsFunc(quoted[1:n], needsDecoder) {
		return quoted[1:n:n], true
	}
	var decoded string
	err := json.Unmarshal(quoted, &decoded)
	return []byte(decoded), err == nil
}

func skipBlank(text []byte, i int) int {
	for i < len(text) && bytes.IndexByte([]byte(" \t\r\n"), text[i]) >= 0 {
		i++
	}
	return i
}

// skipValue returns where the value that begins at i ends.
func skipValue(text []byte, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			i++
			continue
		default:
			i = skipScalar(text, i)
		}
		if depth <= 0 {
			return i
		}
	}
	return len(text)
}

func skipScalar(text []byte, i int) int {
	if end := bytes.IndexAny(text[i:], ",:]} \t\r\n"); end > 0 {
		return i + end
	}
	return len(text)
}

// skipString returns where the string that begins at i ends.
func skipString(text []byte, i int) int {
	for i++; i < len(text); {
		quote := bytes.IndexByte(text[i:], '"')
		if quote < 0 {
			return len(text)
		}
		i += quote + 1
		if escapes(text[:i-1])%2 == 0 {
			return i
		}
	}
	return len(text)
}

// escapes counts the backslashes at the end.
func escapes(text []byte) int { return len(text) - len(bytes.TrimRight(text, `\`)) }
