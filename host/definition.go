package host

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/sdk"
)

// Definition writes all that a plugin says of a tool as JSON, in one way whatever the blanks, escapes and order of its
// schemas, and gives the SHA-256 of that, in hex. The hash tells one definition from every other, as Options.Pins needs.
func Definition(t sdk.Tool) (definition json.RawMessage, hash string) {
	definition = canonical(t)
	return definition, sumOf(definition)
}

// hashOf tells one definition from another, as the host offers it.
func hashOf(t *Tool) string { return sumOf(canonical(t)) }

// canonical writes a definition in one way. Numbers stay as they are.
func canonical(t any) json.RawMessage {
	definition, _ := json.Marshal(t) // a struct of plain fields, which has been JSON before
	v := jsontext.Value(definition)
	if v.Format(jsontext.ReorderRawObjects(true)) != nil {
		return definition // as it is written, then
	}
	return json.RawMessage(v)
}

func sumOf(definition []byte) string {
	sum := sha256.Sum256(definition)
	return hex.EncodeToString(sum[:])
}

// A Change is one part of a definition, such as "description", that differs between two.
type Change struct {
	Part string
	// Lines are the old and the new text of the part. Each begins with "- " if it is only in the old one, "+ " if it is only
	// in the new one, and two blanks if it stands around those. Characters that cannot be seen are written as escapes.
	Lines []string
}

// Changes tells what differs between two definitions as Definition writes them, by the names of the parts.
func Changes(old, now json.RawMessage) (out []Change) {
	var a, b map[string]json.RawMessage
	_, _ = json.Unmarshal(old, &a), json.Unmarshal(now, &b) // what is no definition has no parts
	parts := slices.Sorted(maps.Keys(a))
	parts = append(parts, slices.Sorted(maps.Keys(b))...)
	slices.Sort(parts)
	for _, part := range slices.Compact(parts) {
		if !bytes.Equal(a[part], b[part]) {
			out = append(out, Change{part, compare(linesOf(a[part]), linesOf(b[part]))})
		}
	}
	return out
}

// linesOf writes a part of a definition for people.
func linesOf(raw json.RawMessage) []string {
	if raw == nil {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var b bytes.Buffer
		_ = json.Indent(&b, raw, "", "  ") // it is JSON
		text = b.String()
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = visible(l)
	}
	return lines
}

// visible writes what nobody can see as an escape: a change must not hide in it.
func visible(line string) string {
	if !strings.ContainsFunc(line, hidden) {
		return line
	}
	var b strings.Builder
	for _, c := range line {
		if hidden(c) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(c), "'"))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func hidden(c rune) bool { return !unicode.IsPrint(c) }

// around is how many lines are shown around a change.
const around = 2

// compare gives the lines that differ, and some around them. A gap is three dots.
func compare(old, now []string) (out []string) {
	a, b := text(old), text(now)
	unified, err := udiff.ToUnified("", "", a, udiff.Lines(a, b), around)
	if err != nil { // not reached: the edits are of this text
		return nil
	}
	for i, line := range strings.Split(strings.TrimSuffix(unified, "\n"), "\n") {
		switch {
		case i < 2: // the names of the files
		case !strings.HasPrefix(line, "@@"):
			out = append(out, line[:1]+" "+line[1:])
		case i > 2:
			out = append(out, "  ...")
		}
	}
	return out
}

func text(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// partsOf lists the parts that changed, as words.
func partsOf(changes []Change) string {
	var words []string
	for _, c := range changes {
		words = append(words, strings.ReplaceAll(c.Part, "_", " "))
	}
	if n := len(words); n > 1 {
		return fmt.Sprintf("%s and %s", strings.Join(words[:n-1], ", "), words[n-1])
	}
	return cmp.Or(strings.Join(words, ""), "definition")
}

// pins are the tools that a plugin may have, and what they must say of themselves.
type pins struct {
	hashes map[string]string // by the tool's own name; nil is any
	recall func(hash string) json.RawMessage
}

// check says why a tool is not offered although it could be: nobody has agreed to what it says of itself. What that is
// stays out of the words, since it may be meant for the model that reads them.
func (p pins) check(t sdk.Tool, name, plugin string) *sdk.Error {
	if p.hashes == nil {
		return nil
	}
	locked, there := p.hashes[t.Name]
	now, hash := Definition(t)
	var e *sdk.Error
	switch {
	case !there:
		e = fail(sdk.CodeDenied, "NewTool", "%s is disabled: plugin %q did not have it when it was locked", name, plugin)
	case locked != hash:
		e = fail(sdk.CodeDenied, "DefinitionChanged", "%s is disabled: its %s", name, p.difference(locked, hash, now))
	default:
		return nil
	}
	e.Suggestion = "Use other tools. A person who has looked at it can enable it: toolhost plugin lock " + plugin
	e.Details = sdk.Details(map[string]string{"plugin": plugin, "locked": locked, "now": hash})
	return e
}

// difference says what has changed, as far as the old definition is known.
func (p pins) difference(locked, hash string, now json.RawMessage) string {
	var old json.RawMessage
	if p.recall != nil {
		old = p.recall(locked)
	}
	if old == nil || sumOf(old) != locked {
		return "definition is not the one that was locked: it has the hash " + hash[:12] + "…, not " + locked[:min(len(locked), 12)] + "…"
	}
	changes := Changes(old, now)
	if len(changes) > 1 {
		return partsOf(changes) + " are not those that were locked"
	}
	return partsOf(changes) + " is not the one that was locked"
}

// refused is the answer to a call of a disabled tool, or nil.
func (k known) refused(c *Call) *sdk.Error {
	for _, p := range k.problems {
		out, ok := errors.AsType[*leftOut](p)
		if ok && out.refused != nil && out.name == c.Tool && c.catalog.allowsName(c.Tool) {
			return new(*out.refused)
		}
	}
	return nil
}
