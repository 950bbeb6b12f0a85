package config

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/commandline"
)

// refuseWrittenOut refuses a secret that does not come from a variable. Of one that is "" something else is wrong.
func refuseWrittenOut(in *hclfile.Body, name, secret, variable string) {
	if e := in.Syntax.Attributes[name]; secret != "" && hclfile.Literal(e.Expr) {
		in.Wrong(e.Expr.Range(), "%s is written out", name).WithHint(
			"keep it in the environment, where this file's readers do not see it: %s = env.%s", name, variable)
	}
}

func refersToLocal(e hclsyntax.Expression) bool {
	return slices.ContainsFunc(e.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "local" })
}

// minLocal is the fewest bytes of a local's value that is hidden in texts: most locals are ordinary words.
const minLocal = 12

// referTexts replaces the strings in a value by its name wherever they occur in a text.
func (r *reader) referTexts(v cty.Value, name string) {
	if !hclfile.TextKind.Is(v) {
		for _, part := range hclfile.Parts(v) {
			r.referTexts(part, name)
		}
	} else if len(v.AsString()) >= minLocal {
		r.Hidden.AddText(v.AsString(), name)
	}
}

// referLocals replaces the values of the locals in an expression by their names wherever they occur in a text. Values
// from the environment are hidden when they are read.
func (r *reader) referLocals(e hclsyntax.Expression) {
	for _, t := range e.Variables() {
		if name := hclfile.SecondName(t); t.RootName() == "local" {
			if v, ok := r.Local(name); ok {
				r.referTexts(v, "local."+name)
			}
		}
	}
}

// referCommand records how a command with arguments by reference is shown and locked, and makes the arguments that
// are paths absolute: a plugin starts in the work folder, where a file of the same name may belong to someone else.
// With dir they are relative to that, as for the process.
func (r *reader) referCommand(in *hclfile.Body, spec *supervise.Spec) {
	words := spec.Command
	if len(words) == 0 || spec.Attach {
		return
	}
	e := in.ExprOf("command")
	shown, locked := r.wordsByReference(e, words)
	if !hclfile.Literal(e) {
		for i, word := range words {
			spec.References.Written = append(spec.References.Written, r.written(wordOf(e, i), word))
		}
	}
	from := r.config.Dir
	if spec.Dir != "" {
		from = spec.Dir
	}
	resolved, script := commandline.ResolvePaths(words, from)
	if script > 0 {
		spec.Script = resolved[script]
	}
	if spec.Dir == "" && !slices.Equal(resolved, words) {
		spec.Command = resolved
		if locked == nil {
			locked = words
		} else {
			for i, word := range resolved {
				if word != words[i] { // a path by reference: the real one is shown
					shown[i] = word
				}
			}
		}
	}
	spec.References.Words, spec.References.Locked = shown, locked
	if name, option := commandline.SearchesWorkdir(spec.Command); name != "" && spec.Dir == "" {
		in.Warn(in.ExprOf("command").Range(),
			"%s %s looks for modules in the work folder first, where another user's file could run", name, option).
			WithHint(`put "-P" before %q (Python 3.11), or name the folder to start in: dir = "."`, option)
	}
}

// wordOf is the expression of an item of a list, or of the list if its items are not written there.
func wordOf(e hclsyntax.Expression, i int) hclsyntax.Expression {
	if list, is := e.(*hclsyntax.TupleConsExpr); is && i < len(list.Exprs) {
		return list.Exprs[i]
	}
	return e
}

// written says how a word is written, and what its references come to, without the values that are hidden in texts. It
// is "" for a word that is not by reference.
func (r *reader) written(e hclsyntax.Expression, word string) string {
	if hclfile.Literal(e) {
		return ""
	}
	text := "it is written " + r.Source(e)
	for i, t := range e.Variables() {
		root, name := t.RootName(), hclfile.SecondName(t)
		value, means := os.Getenv(name), "is from the environment"
		if root == "local" {
			v, ok := r.Local(name)
			if !ok || !hclfile.TextKind.Is(v) {
				continue
			}
			value, means = v.AsString(), "is from a locals block"
		}
		switch _, hidden := r.Hidden.Texts[value]; {
		case value == "":
			means = "is empty"
		case !hidden && strings.Contains(word, value):
			means = "is " + strconv.Quote(value)
		}
		text += []string{", where ", " and "}[min(i, 1)] + root + "." + name + " " + means
	}
	return text
}

// wordsByReference returns a command as shown to users and as a lock file keeps it: arguments by reference as they
// are written, for the lock with a checksum of a local's value, since only the environment may change unnoticed. Both
// are nil when no argument is by reference. The program itself is never hidden.
func (r *reader) wordsByReference(e hclsyntax.Expression, words []string) (shown, locked []string) {
	if hclfile.Literal(e) {
		return nil, nil
	}
	for i, word := range words {
		item, text := wordOf(e, i), r.Source(e)+"["+strconv.Itoa(i)+"]"
		if item != e {
			text = strings.Trim(r.Source(item), `"`)
		}
		lock := text
		switch {
		case i == 0 || hclfile.Literal(item):
			text, lock = word, word
		case refersToLocal(item):
			// The beginning of the checksum is enough to detect another text, and too little to recover it.
			sum := sha256.Sum256([]byte(r.Hidden.Hide(word)))
			lock += " sha256:" + hex.EncodeToString(sum[:6])
			r.referLocals(item)
		}
		shown, locked = append(shown, text), append(locked, lock)
	}
	return shown, locked
}
