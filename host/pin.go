package host

import (
	"encoding/json"
	"errors"

	"github.com/toolhost/toolhost/sdk"
)

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
