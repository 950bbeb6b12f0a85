package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/internal/redact"
)

// A Setting is one attribute of the file.
type Setting struct {
	// Block is the heading of its block, such as `plugin "shell"`, with those around it; "" at the top level.
	Block string
	// Key is the name, and Value the expression as it is written. What is written out under a name of a secret, such as
	// API_KEY, as the value of a token or in a local that those refer to, is left out.
	Key, Value string
	// Place is where it is, such as "config.hcl:12".
	Place string
}

// hiddenValue stands for a secret.
const hiddenValue = `"[redacted]"`

// Settings are the attributes of the file in its order, and its text, both without what is written out as a secret, see
// Setting. Both are empty for a Config that was not parsed.
func (c *Config) Settings() (all []Setting, text string) {
	if len(c.source) == 0 {
		return nil, ""
	}
	file, diagnostics := hclsyntax.ParseConfig(c.source, filepath.Base(c.shown), hcl.InitialPos)
	body, is := file.Body.(*hclsyntax.Body)
	if diagnostics.HasErrors() || !is { // it was parsed before
		return nil, ""
	}
	v := &settingsView{source: string(c.source), name: filepath.Base(c.shown)}
	v.body(body, "")
	v.hide(body)
	slices.SortFunc(v.hidden, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	for i := range v.all {
		v.all[i].Value = v.without(v.places[i])
	}
	return v.all, v.without(part{0, len(v.source)})
}

type part struct{ from, to int }

// A settingsView collects the settings of a file, and what must not be shown of it.
type settingsView struct {
	source, name string
	all          []Setting
	places       []part // of the values
	hidden       []part
	locals       []string // whose values are secret, to be hidden
}

func (v *settingsView) body(b *hclsyntax.Body, around string) {
	for _, a := range hclfile.InOrder(b.Attributes) {
		v.all = append(v.all, Setting{around, a.Name, "", fmt.Sprintf("%s:%d", v.name, a.SrcRange.Start.Line)})
		v.places = append(v.places, rangeOf(a.Expr.Range()))
	}
	for _, inner := range b.Blocks {
		heading := inner.Type
		for _, label := range inner.Labels {
			heading += fmt.Sprintf(" %q", label)
		}
		if around != "" {
			heading = around + ", " + heading
		}
		v.body(inner.Body, heading)
	}
}

func rangeOf(r hcl.Range) part { return part{r.Start.Byte, r.End.Byte} }

// hide notes what is written out under names of secrets, and in the locals that those refer to.
func (v *settingsView) hide(b *hclsyntax.Body) {
	v.hideBody(b, "")
	hidden := map[string]bool{}
	for len(v.locals) > 0 { // a local may refer to another one
		name := v.locals[0]
		v.locals = v.locals[1:]
		if hidden[name] {
			continue
		}
		hidden[name] = true
		for _, block := range b.Blocks {
			if a := block.Body.Attributes[name]; a != nil && block.Type == "locals" {
				v.hideSecret(a.Expr)
			}
		}
	}
}

func (v *settingsView) hideBody(b *hclsyntax.Body, block string) {
	for _, a := range b.Attributes {
		v.hideUnder(a.Name, a.Expr, block == "token" && a.Name == "value")
	}
	for _, inner := range b.Blocks {
		v.hideBody(inner.Body, inner.Type)
	}
}

// hideUnder hides a value if its name is that of a secret, or else what has such a name within it. Any header may be a
// secret: services choose names of their own.
func (v *settingsView) hideUnder(name string, e hclsyntax.Expression, secret bool) {
	if secret || redact.Name(name) {
		v.hideSecret(e)
		return
	}
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		if object, is := n.(*hclsyntax.ObjectConsExpr); is {
			for _, item := range object.Items {
				if name == "headers" || redact.Name(v.keyOf(item.KeyExpr)) {
					v.hideSecret(item.ValueExpr)
				}
			}
		}
		return nil
	})
}

// keyOf is the key of an object as it is written, without quotes.
func (v *settingsView) keyOf(e hclsyntax.Expression) string {
	r := e.Range()
	return strings.Trim(v.source[r.Start.Byte:r.End.Byte], `"`)
}

// hideSecret hides all of an expression but references, names of variables of the environment, and keys.
func (v *settingsView) hideSecret(e hclsyntax.Expression) {
	for _, t := range e.Variables() {
		if t.RootName() == "local" {
			v.locals = append(v.locals, hclfile.SecondName(t))
		}
	}
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return
	case *hclsyntax.FunctionCallExpr:
		if e.Name == "env" {
			for _, arg := range e.Args[min(1, len(e.Args)):] {
				v.hideSecret(arg)
			}
			return
		}
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			v.hideSecret(item.ValueExpr)
		}
		return
	}
	v.hidden = append(v.hidden, rangeOf(e.Range()))
}

// without is a part of the text without what is hidden.
func (v *settingsView) without(p part) string {
	var out strings.Builder
	at := p.from
	for _, h := range v.hidden {
		if h.to <= at || h.from >= p.to {
			continue
		}
		out.WriteString(v.source[at:max(h.from, at)])
		out.WriteString(hiddenValue)
		at = h.to
	}
	if at < p.to {
		out.WriteString(v.source[at:p.to])
	}
	return out.String()
}
