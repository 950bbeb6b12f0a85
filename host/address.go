package host

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// addressForm matches the address of a tool, mcp://SERVER/TOOL.
const addressForm = "An address is mcp://SERVER/TOOL: the label of the server's plugin and the server's own name " +
	"of the tool, in which all but letters, digits, -, _, . and ~ is percent-encoded, such as %2F for /."

// Resolve returns the full name of the tool with an address, mcp://SERVER/TOOL: SERVER is a plugin's label, and TOOL is
// the tool's name at its source, which for a tool of an MCP server can differ from the last part of its full name. Any
// other name is returned unchanged. Resolve lists the plugin if necessary, and waits for tools that the plugin expects
// soon. It does not check whether the tool may be called: Call does. An error is an *sdk.Error with CodeToolNotFound,
// CodeNotInCatalog or the code of the failure to list the plugin.
func (c *Catalog) Resolve(ctx context.Context, name string) (string, error) {
	scheme, rest, is := strings.Cut(name, "://")
	if !is {
		return name, nil
	}
	wrong := func(kind, format string, a ...any) (string, error) {
		e := fail(sdk.CodeToolNotFound, kind, format, a...)
		e.Suggestion = addressForm
		return "", e
	}
	if !strings.EqualFold(scheme, "mcp") {
		return wrong("UnknownScheme", "%.100q is not the address of a tool: only mcp:// is known, not %.40q", name,
			scheme+"://")
	}
	label, tool, _ := strings.Cut(rest, "/")
	label, err := url.PathUnescape(label)
	original, err2 := url.PathUnescape(tool)
	if errors.Join(err, err2) != nil || label == "" || original == "" || strings.ContainsAny(tool, "/?#") {
		return wrong("InvalidAddress", "%.100q is not the address of a tool", name)
	}
	r := c.host.now.Load().registry
	l := r.plugins[label]
	switch {
	case l == nil:
		return wrong("UnknownServer", "there is no plugin %.50q%s", label, textutil.DidYouMean(label, c.Plugins()))
	case !c.reaches(label):
		return "", fail(sdk.CodeNotInCatalog, "NotInCatalog",
			"the tools of plugin %q are not in this catalog; nothing was run", label)
	}
	call := &Call{catalog: c, callState: &callState{}}
	own, err := r.listed(ctx, call, l)
	if err == nil {
		own, err = r.await(ctx, call, l, own, func(list toolList) bool { return list.named(original) != "" })
	}
	if err != nil {
		return "", err
	}
	if full := own.named(original); full != "" {
		return full, nil
	}
	tools, _ := c.pick(own)
	var near []string
	for _, t := range tools {
		near = append(near, t.sourceName())
	}
	e := fail(sdk.CodeToolNotFound, "ToolNotFound", "plugin %q has no tool that its source calls %.100q%s", label,
		original, textutil.DidYouMean(original, near))
	e.Suggestion = addressForm
	return "", e
}

// named returns the full name of the tool with a name at its source, also when that tool was left out; "" when there
// is none. The name at the source is tried before the plugin's own name, which may belong to another tool.
func (l toolList) named(original string) string {
	for full, t := range l.tools {
		if t.sourceName() == original {
			return full
		}
	}
	for _, p := range l.problems {
		if out, ok := errors.AsType[*toolProblem](p); ok && out.original == original {
			return out.name
		}
	}
	for full, t := range l.tools {
		if t.declared.Name == original {
			return full
		}
	}
	return ""
}

// sourceName is the name of the tool at its source.
func (t *Tool) sourceName() string {
	return cmp.Or(t.declared.OriginalName, t.declared.Name)
}
