package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// refers says whether an expression takes a value from elsewhere: from a local or the environment.
func refers(e hclsyntax.Expression) (is bool) {
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n.(type) {
		case *hclsyntax.ScopeTraversalExpr, *hclsyntax.FunctionCallExpr:
			is = true
		}
		return nil
	})
	return is
}

// refersToLocal says whether a value comes from a locals block. Those from the environment are known when they are read.
func refersToLocal(e hclsyntax.Expression) bool {
	for _, t := range e.Variables() {
		if t.RootName() == "local" {
			return true
		}
	}
	return false
}

// written gives an expression as it is written, on one line.
func (r *report) written(e hclsyntax.Expression) string {
	for {
		switch inner := e.(type) {
		case *hclsyntax.TemplateWrapExpr:
			e = inner.Wrapped
			continue
		case *hclsyntax.ParenthesesExpr:
			e = inner.Expression
			continue
		}
		break
	}
	return visible(string(e.Range().SliceBytes(r.src)))
}

// refer notes which values of a plugin's configuration are by reference, and how each is written.
func (t *tree) refer(pointer string, e hclsyntax.Expression, v cty.Value) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		t.refer(pointer, e.Expression, v)
		return
	case *hclsyntax.TupleConsExpr:
		items := v.AsValueSlice()
		for i, item := range e.Exprs {
			t.refer(child(pointer, strconv.Itoa(i)), item, items[i])
		}
		return
	case *hclsyntax.ObjectConsExpr:
		if t.referMembers(pointer, e, v) {
			return
		}
	}
	if !refers(e) {
		return
	}
	name := t.written(e)
	if pointer == tooDeep {
		pointer, name = "", "values by reference"
	}
	t.references[pointer] = name
	if refersToLocal(e) {
		t.referTexts(v, name)
		t.referLocals(e) // keys too
	}
}

// referMembers is refer for an object that is written out. It is false when a key of it is by reference.
func (t *tree) referMembers(pointer string, e *hclsyntax.ObjectConsExpr, v cty.Value) bool {
	for _, item := range e.Items {
		if _, ok := literalKey(item); !ok {
			return false
		}
	}
	members := v.AsValueMap()
	for _, item := range e.Items {
		key, _ := literalKey(item)
		t.refer(child(pointer, key), item.ValueExpr, members[key])
	}
	return true
}

// minLocal is how many bytes a value of a local must have to be looked for in texts: most locals are ordinary words.
const minLocal = 12

// referTexts has the strings in a value shown by their name wherever they stand in a text.
func (r *report) referTexts(v cty.Value, name string) {
	switch {
	case textKind.is(v) && len(v.AsString()) >= minLocal:
		r.hidden.AddText(v.AsString(), name)
	case listKind.is(v), objectKind.is(v):
		for _, part := range parts(v) {
			r.referTexts(part, name)
		}
	}
}

// writtenWords gives the arguments of a command as people are shown them and as a lock file keeps them: those by reference as
// they are written, for the lock with a checksum of what a local holds, since only the environment may change unnoticed.
// Both are nil when no argument is by reference. The program itself is never hidden behind a name.
func (f *fields) writtenWords(name string, words []string) (shown, locked []string) {
	a := f.body.Attributes[name]
	if a == nil || !refers(a.Expr) {
		return nil, nil
	}
	list, listed := a.Expr.(*hclsyntax.TupleConsExpr)
	for i, word := range words {
		item, text := a.Expr, f.written(a.Expr)+"["+strconv.Itoa(i)+"]"
		if listed && i < len(list.Exprs) {
			item = list.Exprs[i]
			text = strings.Trim(f.written(item), `"`)
		}
		lock := text
		switch {
		case i == 0 || !refers(item):
			text, lock = word, word
		case refersToLocal(item):
			lock += " sha256:" + sumOf(f.hidden.Hide(word))
			f.referLocals(item)
		}
		shown, locked = append(shown, text), append(locked, lock)
	}
	return shown, locked
}

// referLocals has the locals that an expression takes shown by their names wherever they stand in a text.
func (f *fields) referLocals(e hclsyntax.Expression) {
	for _, t := range e.Variables() {
		if name := secondName(t); t.RootName() == "local" && f.locals[name] != nil && f.locals[name].ok {
			f.referTexts(f.locals[name].value, "local."+name)
		}
	}
}

// sumOf is the beginning of a text's checksum: enough to notice another text, too little to find out which.
func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
