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
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/host/internal/toolsearch"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// A Tool is a tool as the host offers it: under its full name, PLUGIN__TOOL.
type Tool struct {
	sdk.Tool
	// Plugin is the label of the plugin.
	Plugin string
	// Unseen is how many characters that people cannot see were taken out of its descriptions: somebody may have hidden
	// words in them.
	Unseen int
	// Unchecked says which parts of its schemas are not checked, and why.
	Unchecked []string
	// Aliases are other names that it may be called by.
	Aliases []string

	plugin    Plugin
	said      *sdk.Tool // as the plugin defines it, under the name that it knows
	input     *schema.Schema
	output    *schema.Schema           // nil: none is declared
	siblings  map[string]bool          // the arguments of all tools of the plugin; nil when they are not known
	hash      func() string            // tells one definition from another, made when first asked for
	arguments func() *arguments.Schema // its input schema, decoded when first asked for

	searchDocument func() *toolsearch.Document // made when first asked for
}

// MarshalJSON puts the plugin beside the definition.
func (t Tool) MarshalJSON() ([]byte, error) {
	definition, err := json.Marshal(t.Tool)
	if err != nil {
		return nil, err
	}
	if len(t.Aliases) > 0 {
		definition = slices.Concat([]byte(`{"aliases":`), sdk.Encode(t.Aliases), []byte(","), definition[1:])
	}
	return fmt.Appendf(nil, `{"plugin":%q,%s`, t.Plugin, definition[1:]), nil
}

// clone is a tool that may be changed.
func (t *Tool) clone() *Tool {
	out := *t
	out.InputSchema, out.OutputSchema = bytes.Clone(t.InputSchema), bytes.Clone(t.OutputSchema)
	for _, hint := range []**bool{&out.Hints.ReadOnly, &out.Hints.Destructive, &out.Hints.Idempotent, &out.Hints.OpenWorld} {
		if *hint != nil {
			*hint = new(**hint)
		}
	}
	return &out
}

// maxTools is how many tools a plugin may have: more than any model can choose from.
const maxTools = 256

// few keeps the first tools by name, whatever order the plugin has them in, and says what becomes of the others.
func (l *listing) few(all []sdk.Tool) ([]sdk.Tool, []error) {
	if len(all) <= maxTools {
		return all, nil
	}
	sorted := slices.SortedStableFunc(slices.Values(all), func(a, b sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
	return sorted[:maxTools], []error{&surplus{l.name, slices.Clone(sorted[maxTools:])}}
}

// take checks the definitions one by one: a wrong one costs only that tool. Two of one name, or of names that differ
// only by letter case, cost both, since nobody can say which is meant.
func (l *listing) take(all []sdk.Tool) (map[string]*Tool, []error) {
	defined, problems := l.few(all)
	tools := map[string]*Tool{}
	clashes := map[string]map[string]int{} // how often each spelling of a name is declared
	for _, d := range all {
		name := fullName(l.name, d.Name)
		folded := strings.ToLower(name)
		if clashes[folded] == nil {
			clashes[folded] = map[string]int{}
		}
		clashes[folded][name]++
	}
	for _, d := range defined {
		name := fullName(l.name, d.Name)
		t, err := l.tool(d, name)
		if err == nil {
			err = clash(name, clashes[strings.ToLower(name)])
		}
		if err != nil {
			problems = append(problems, &leftOut{name: name, plugin: l.name, why: strings.ReplaceAll(err.Error(), "\n", "; ")})
			continue
		}
		if e := l.pins.check(d, name, l.name); e != nil {
			problems = append(problems, &leftOut{name, l.name, e.Message + "; " + e.Suggestion, e})
			continue
		}
		tools[name] = t
	}
	siblings := allArguments(tools)
	for _, t := range tools {
		t.siblings = siblings
	}
	return tools, problems
}

// clash says why a name cannot be told from others of its plugin; nil when it can.
func clash(name string, spellings map[string]int) error {
	if n := spellings[name]; n > 1 {
		return fmt.Errorf("the plugin declares it %d times", n)
	}
	if len(spellings) > 1 {
		return fmt.Errorf("the plugin declares %s, whose names differ only by letter case", strings.Join(slices.Sorted(maps.Keys(spellings)), " and "))
	}
	return nil
}

// allArguments are the names that the tools declare; nil when one of them takes others.
func allArguments(tools map[string]*Tool) map[string]bool {
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
	t := &Tool{Tool: d, Plugin: l.name, plugin: l.plugin, said: &d}
	if err := errors.Join(t.showAll(), t.compile()); err != nil {
		return nil, err
	}
	if t.Unseen > 0 {
		l.log().Warn("characters that people cannot see were taken out of a tool's description; it may hide words from them", "tool", name, "characters", t.Unseen)
	}
	t.Name = name
	t.Description = cmp.Or(l.options[name].Description, t.Description)
	t.Aliases = l.options[name].Aliases
	if l.deaf {
		t.Hints, t.Category, t.CostTier = sdk.Hints{}, "", ""
	}
	if name != l.name+"__"+d.Name && t.OriginalName == "" {
		t.OriginalName = d.Name
	}
	t.arguments = sync.OnceValue(func() *arguments.Schema { return arguments.NewSchema(t.InputSchema) })
	t.searchDocument = sync.OnceValue(func() *toolsearch.Document { return toolsearch.NewDocument(&t.Tool) })
	t.hash = sync.OnceValue(func() string { return hashOf(t) })
	return t, nil
}

// showAll takes out of the tool's words what people cannot see.
func (t *Tool) showAll() error {
	var n [6]int
	t.Title, n[0] = withoutUnseen(t.Title)
	t.Description, n[1] = withoutUnseen(t.Description)
	t.Category, n[2] = withoutUnseen(t.Category)
	t.OriginalName, n[3] = withoutUnseen(t.OriginalName)
	var inputErr, outputErr error
	t.InputSchema, n[4], inputErr = withoutUnseenIn(t.InputSchema)
	t.OutputSchema, n[5], outputErr = withoutUnseenIn(t.OutputSchema)
	for _, unseen := range n {
		t.Unseen += unseen
	}
	switch {
	case inputErr != nil:
		return fmt.Errorf("its input schema cannot be used: %w", inputErr)
	case outputErr != nil:
		return fmt.Errorf("its output schema cannot be used: %w", outputErr)
	case strings.TrimSpace(t.Description) == "":
		return errors.New("its description has only characters that cannot be seen")
	}
	return nil
}

// compile makes ready to check arguments and structured results.
func (t *Tool) compile() (err error) {
	if t.input, err = t.compileInput(); err != nil {
		return fmt.Errorf("its input schema cannot be used: %w", err)
	}
	if t.OutputSchema == nil {
		return nil
	}
	if t.output, err = schema.Compile(t.OutputSchema); err != nil {
		return fmt.Errorf("its output schema cannot be used: %w", err)
	}
	for _, what := range t.output.Unchecked {
		t.Unchecked = append(t.Unchecked, "output schema: "+what)
	}
	return nil
}

// compileInput replaces a foreign schema that cannot be used by one that accepts every object: the tool checks for itself.
func (t *Tool) compileInput() (s *schema.Schema, err error) {
	if t.ForeignSchema {
		s, err = schema.CompileForeign(t.InputSchema)
	} else {
		s, err = schema.Compile(t.InputSchema)
	}
	switch {
	case err == nil:
		t.Unchecked = s.Unchecked
	case t.ForeignSchema:
		t.Unchecked = []string{fmt.Sprintf("its arguments are not checked, since its schema cannot be used: %v", err)}
		return schema.Compile(json.RawMessage(`{"type":"object"}`))
	}
	return s, err
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

// This file keeps words that people cannot see, and models read, out of definitions. Results stay as they are: they are
// marked as data, and a file must be read as it is to be edited.

// withoutUnseen takes them out, and counts them.
func withoutUnseen(text string) (string, int) { return textutil.Visible(text, -1) }

// withoutUnseenIn does it for the titles and descriptions in a JSON Schema. Elsewhere in it, such as in the name of a
// property, the characters mean something to the plugin, so they are an error.
func withoutUnseenIn(schema json.RawMessage) (json.RawMessage, int, error) {
	if !mayHide(schema) {
		return schema, 0, nil
	}
	w := unseenWalk{in: jsontext.NewDecoder(bytes.NewReader(schema)), out: &bytes.Buffer{}}
	w.to = jsontext.NewEncoder(w.out)
	for kind := w.in.PeekKind(); kind != 0; kind = w.in.PeekKind() {
		if err := w.step(); err != nil {
			return nil, 0, err
		}
	}
	if w.n == 0 {
		return schema, 0, nil
	}
	return bytes.TrimSpace(w.out.Bytes()), w.n, nil
}

// mayHide is false for what is plain ASCII in the raw and in its escapes, as most schemas are.
func mayHide(schema []byte) bool {
	return bytes.ContainsFunc(schema, func(r rune) bool { return r > unicode.MaxASCII }) || bytes.Contains(schema, []byte(`\u`))
}

// An unseenWalk copies a schema token by token.
type unseenWalk struct {
	in  *jsontext.Decoder
	to  *jsontext.Encoder
	out *bytes.Buffer
	n   int
	key string // whose value comes next; "" in an array
}

func (w *unseenWalk) step() error {
	if w.in.PeekKind() != '"' {
		v, err := w.in.ReadToken()
		if err != nil {
			return err
		}
		w.key = ""
		return w.to.WriteToken(v)
	}
	in, length := w.in.StackIndex(w.in.StackDepth())
	raw, err := w.in.ReadValue()
	if err != nil {
		return err
	}
	text := arguments.Unquote(raw)
	switch shown, n := withoutUnseen(text); {
	case n == 0:
	case in == '{' && length%2 == 0:
		return fmt.Errorf("the name %+.60q in it has characters that cannot be seen", text)
	case w.key == "description" || w.key == "title" || w.key == "$comment":
		raw, w.n = quotedJSON(shown), w.n+n
	}
	w.key = ""
	if in == '{' && length%2 == 0 {
		w.key = text
	}
	return w.to.WriteValue(raw)
}

func quotedJSON(text string) jsontext.Value {
	out, _ := jsontext.AppendQuote(nil, text) // fails for invalid UTF-8 only
	return out
}
