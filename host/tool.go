package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/sdk"
)

// A Tool is a tool as the host offers it: under its full name, PLUGIN__TOOL.
type Tool struct {
	sdk.Tool
	// Plugin is the label of the plugin.
	Plugin string

	plugin   Plugin
	wire     string // the name that the plugin knows
	input    *schema.Schema
	siblings map[string]bool // the arguments of all tools of the plugin; nil when they are not known
	page     func() page     // what search knows of it, made when first asked for
	hash     func() string   // tells one definition from another, made when first asked for
	spelling *spelling
}

// MarshalJSON puts the plugin beside the definition.
func (t Tool) MarshalJSON() ([]byte, error) {
	definition, err := json.Marshal(t.Tool)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"plugin":%q,%s`, t.Plugin, definition[1:]), nil
}

// A leftOut is a tool that a plugin declares and nobody can call.
type leftOut struct {
	name   string // in full
	plugin string
	why    string
}

func (e *leftOut) Error() string {
	return fmt.Sprintf("plugin %q: tool %s is left out: %s", e.plugin, cutText(e.name, 100), e.why)
}

// nameOf gives the full name of a tool that was left out.
func nameOf(problem error) string {
	if out, ok := errors.AsType[*leftOut](problem); ok {
		return out.name
	}
	return ""
}

// take checks the definitions one by one: a wrong one costs only that tool. Two of one name cost both, since nobody can
// say which is meant.
func (l *listing) take(defined []sdk.Tool) (map[string]*Tool, []error) {
	tools := map[string]*Tool{}
	var problems []error
	count := map[string]int{}
	for _, d := range defined {
		count[fullName(l.name, d.Name)]++
	}
	for _, d := range defined {
		name := fullName(l.name, d.Name)
		t, err := l.tool(d, name)
		if err == nil && count[name] > 1 {
			err = fmt.Errorf("the plugin declares it %d times", count[name])
		}
		if err != nil {
			problems = append(problems, &leftOut{name, l.name, strings.ReplaceAll(err.Error(), "\n", "; ")})
			continue
		}
		tools[name] = t
	}
	siblings := arguments(tools)
	for _, t := range tools {
		t.siblings = siblings
	}
	return tools, problems
}

// arguments are the names that the tools declare; nil when one of them takes others.
func arguments(tools map[string]*Tool) map[string]bool {
	names := map[string]bool{}
	for _, t := range tools {
		own := t.Arguments()
		if own == nil {
			return nil
		}
		maps.Copy(names, own)
	}
	return names
}

// Arguments are the names of the arguments that the tool declares; nil when it declares none and takes any.
func (t *Tool) Arguments() map[string]bool {
	var input struct {
		Properties           map[string]json.RawMessage
		AdditionalProperties any
	}
	if json.Unmarshal(t.InputSchema, &input) != nil || (len(input.Properties) == 0 && input.AdditionalProperties != false) {
		return nil
	}
	names := map[string]bool{}
	for name := range input.Properties {
		names[name] = true
	}
	return names
}

func (l *listing) tool(d sdk.Tool, name string) (*Tool, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	input, err := schema.Compile(d.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("its input schema cannot be used: %w", err)
	}
	t := &Tool{Tool: d, Plugin: l.name, plugin: l.plugin, wire: d.Name, input: input, spelling: newSpelling(d.InputSchema)}
	t.Name = name
	t.Description = cmp.Or(l.options[name].Description, t.Description)
	if l.deaf {
		t.Hints, t.Category, t.CostTier = sdk.Hints{}, "", ""
	}
	if name != l.name+"__"+d.Name && t.OriginalName == "" {
		t.OriginalName = d.Name
	}
	t.page = sync.OnceValue(func() page { return newPage(t) })
	t.hash = sync.OnceValue(func() string { return hashOf(t) })
	return t, nil
}

// maxName is the longest full name; model vendors allow no more.
const maxName = 64

// fullName joins both parts; a name that would be too long ends in a short hash of the whole one instead.
func fullName(plugin, tool string) string {
	full := plugin + "__" + tool
	if len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	return strings.TrimRight(full[:maxName-9], "_") + "_" + hex.EncodeToString(sum[:4])
}
