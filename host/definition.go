package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// Definition returns all that a plugin declares of a tool as canonical JSON, independent of white space, escapes and
// member order, and its SHA-256 in hex. The hash identifies the definition in Options.Pins.
func Definition(t sdk.Tool) (definition json.RawMessage, hash string) {
	definition = canonical(t)
	return definition, hashOf(definition)
}

// canonical writes a definition as canonical JSON. Numbers keep their digits.
func canonical(t any) json.RawMessage {
	definition, _ := json.Marshal(t) // cannot fail: a struct of plain fields, decoded from JSON
	v := jsontext.Value(definition)
	if v.Format(jsontext.ReorderRawObjects(true)) != nil {
		return definition
	}
	return json.RawMessage(v)
}

func hashOf(definition []byte) string {
	sum := sha256.Sum256(definition)
	return hex.EncodeToString(sum[:])
}

// pins are the tools that a plugin may have, with the hashes of their definitions.
type pins struct {
	hashes map[string]string // by the tool's own name; nil allows any tool
	recall func(hash string) json.RawMessage
}

// check refuses a tool that is not in the lock. The error does not quote the tool's texts: they may try to influence
// the model that reads it.
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

// difference names the parts that have changed, if the old definition is known.
func (p pins) difference(locked, hash string, now json.RawMessage) string {
	var old json.RawMessage
	if p.recall != nil {
		old = p.recall(locked)
	}
	var a, b map[string]json.RawMessage
	if hashOf(old) != locked || json.Unmarshal(old, &a) != nil || json.Unmarshal(now, &b) != nil {
		return "definition is not the one that was locked: it has the hash " + hash[:12] + "…, not " +
			locked[:min(len(locked), 12)] + "…"
	}
	parts := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(parts)
	parts = slices.DeleteFunc(slices.Compact(parts), func(part string) bool { return bytes.Equal(a[part], b[part]) })
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(part, "_", " ")
	}
	switch len(parts) {
	case 0:
		return "definition is not the one that was locked"
	case 1:
		return parts[0] + " is not the one that was locked"
	default:
		return textutil.List(parts, "and") + " are not those that were locked"
	}
}
