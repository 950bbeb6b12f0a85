package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// argWord is KEY=VALUE or KEY:=JSON; a key is names with dots between them.
var argWord = lazy.Regexp(`(?s)^([^=:\s{}"'\[\]]+)(:?=)(.*)$`)

// isArgWord reports whether an argument is KEY=VALUE rather than JSON.
func isArgWord(text string) bool { return argWord().MatchString(text) }

// errUndescribed means that the tool of a call cannot be described; the call says why.
var errUndescribed = errors.New("the tool cannot be described")

// typedArguments converts KEY=VALUE arguments by the schema of the call's tool. Without one they are unread: a text,
// which is no JSON object, so that the call, which is made and recorded all the same, does not run if its tool is there
// by then.
func typedArguments(ctx context.Context, at callTarget, words []string) (arguments json.RawMessage, unread bool,
	err error) {
	tool, schema, err := at.describe(ctx)
	if errors.Is(err, errUndescribed) {
		arguments, err = json.Marshal(strings.Join(words, " "))
		return arguments, true, err
	}
	if err == nil {
		arguments, err = argumentsInWords(ctx, tool, schema, words)
	}
	return arguments, false, err
}

// A wordReader converts words to arguments by the schema of a tool.
type wordReader struct {
	tool     string
	schema   *argSchema
	readFile func(path string) ([]byte, error)
	members  map[string]any
	itemwise map[string]bool // lists whose items come one by one
}

// argumentsInWords reads KEY=VALUE, KEY=@FILE and KEY:=JSON by a tool's schema: a number is a number where the schema
// has one, a repeated key adds an item to a list, and A.B=1 is a member of A. The error names the invalid word.
func argumentsInWords(ctx context.Context, tool string, schema json.RawMessage, words []string) (json.RawMessage,
	error) {
	r := &wordReader{tool: tool, schema: readSchema(schema, nil), members: map[string]any{}, itemwise: map[string]bool{},
		readFile: func(path string) ([]byte, error) {
			return untilInterrupted(ctx, func() ([]byte, error) { return fsutil.ReadRegular(path, sdk.MaxArguments) })
		}}
	for _, word := range words {
		if err := r.word(word); ctx.Err() != nil {
			return nil, errInterrupted
		} else if err != nil {
			e := &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments", Message: err.Error() + "; nothing was run",
				Suggestion: fmt.Sprintf("`toolhost call %s --help` shows the arguments.", tool), Outcome: sdk.OutcomeNotSent}
			return nil, newRefusal(e, describe(e))
		}
	}
	return rawjson.Encode(r.members, "")
}

func (r *wordReader) word(word string) error {
	m := argWord().FindStringSubmatch(word)
	if !utf8.ValidString(word) {
		return fmt.Errorf("%q is not UTF-8 text, which arguments are", word)
	} else if m == nil {
		return fmt.Errorf("%q is not an argument; write KEY=VALUE, KEY:=JSON, or one JSON object alone", word)
	}
	key, value := m[1], m[3]
	steps := strings.Split(key, ".")
	if slices.Contains(r.schema.properties(), key) { // a name with dots in it
		steps = []string{key}
	}
	updated, err := r.put(r.members, r.schema, steps, "", m[2] == ":=", value)
	if err == nil {
		r.members = updated.(map[string]any)
	}
	return err
}

// put adds the text of a word to a value, at the place in it that the steps lead to, and returns the new value.
func (r *wordReader) put(at any, s *argSchema, steps []string, path string, isJSON bool, text string) (any, error) {
	if len(steps) == 0 {
		return r.value(s, at, path, isJSON, text)
	}
	step, below := steps[0], strings.TrimPrefix(path+"."+steps[0], ".")
	list, isList := at.([]any)
	if n, err := strconv.Atoi(step); err == nil && s.takes("array") && (s.types() != nil || isList) {
		if n < 0 || n > len(list) {
			return nil, fmt.Errorf("%s: the next item of %s is number %d", below, path, len(list))
		}
		if n == len(list) {
			list = append(list, nil)
		}
		var failed error
		list[n], failed = r.put(list[n], s.items(), steps[1:], below, isJSON, text)
		return list, failed
	}
	if at != nil {
		if _, is := at.(map[string]any); !is {
			return nil, fmt.Errorf("%s: %s is a value already", below, path)
		}
	}
	if path != "" && !s.takes("object") {
		return nil, fmt.Errorf("%s: %s is %s, and has no members", below, path, s.noun())
	}
	member := s.property(step)
	if member == nil {
		return nil, r.unknown(s, step, path)
	}
	members, _ := at.(map[string]any)
	if members == nil {
		members = map[string]any{}
	}
	value, err := r.put(members[step], member, steps[1:], below, isJSON, text)
	if err == nil {
		members[step] = value
	}
	return members, err
}

func (r *wordReader) unknown(s *argSchema, name, path string) error {
	known, what := s.properties(), r.tool
	if path != "" {
		what = path
	}
	if len(known) == 0 {
		return fmt.Errorf("%s takes no arguments; remove %q", what, name)
	}
	if meant := textutil.DidYouMean(name, known); meant != "" {
		return fmt.Errorf("%s has no argument %q%s", what, name, meant)
	}
	return fmt.Errorf("%s has no argument %q; it has %s", what, name, strings.Join(known, ", "))
}

// value reads the text of a word, or of the file that it names, by its schema.
func (r *wordReader) value(s *argSchema, old any, path string, isJSON bool, text string) (any, error) {
	if isJSON {
		v, err := parseJSON(text)
		if err != nil {
			return nil, fmt.Errorf("%s: the value after := is invalid: %w", path, err)
		}
		return r.once(old, path, v)
	}
	if name, ok := strings.CutPrefix(text, "@"); ok && name != "" {
		content, err := r.readFile(name)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w; for a text that begins with @ write %s:='\"@…\"'", path, err, path)
		case !utf8.Valid(content):
			return nil, fmt.Errorf("%s: %s is not UTF-8 text, which arguments are", path, name)
		}
		text = string(content)
	}
	if s.takes("array") && s.types() != nil && !s.takes("string") {
		return r.item(s, old, path, text)
	}
	v, err := typed(s, path, text)
	if err != nil {
		return nil, err
	}
	return r.once(old, path, v)
}

// item adds to a list, or sets a whole one that is written as JSON.
func (r *wordReader) item(s *argSchema, old any, path, text string) (any, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") && !r.itemwise[path] {
		if v, err := parseJSON(text); err == nil {
			if _, whole := v.([]any); whole && !s.items().takes("array") {
				return r.once(old, path, v)
			}
		}
	}
	v, err := typed(s.items(), path, text)
	if err != nil {
		return nil, fmt.Errorf("an item of %w; %s:='[…]' is the whole list", err, path)
	}
	if old != nil && !r.itemwise[path] {
		return nil, fmt.Errorf("%s is given twice, once as a whole list", path)
	}
	r.itemwise[path] = true
	list, _ := old.([]any)
	return append(list, v), nil
}

func (r *wordReader) once(old any, path string, v any) (any, error) {
	if old != nil {
		return nil, fmt.Errorf("%s is given twice, but takes a single value", path)
	}
	return v, nil
}

// typed converts a text to the type in the schema.
func typed(s *argSchema, path, text string) (any, error) {
	trimmed := strings.TrimSpace(text)
	v, err := parseJSON(trimmed)
	fits := false
	switch v := v.(type) {
	case json.Number:
		fits = s.takes("number") || s.takes("integer") && !strings.ContainsAny(v.String(), ".eE")
	case bool:
		fits = s.takes("boolean")
	case map[string]any:
		fits = s.takes("object")
	case []any:
		fits = s.takes("array")
	case nil:
		fits = err == nil && s.takes("null") && (s.types() != nil || trimmed == "null")
	}
	switch {
	case fits:
		return v, nil
	case s.takes("string"):
		return text, nil
	}
	return nil, fmt.Errorf("%s must be %s, not %s", path, s.noun(), strconv.Quote(fitLine(text, 60)))
}

func parseJSON(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%s is not JSON", strconv.Quote(fitLine(text, 60)))
	}
	if d.More() {
		return nil, fmt.Errorf("there is more than one value: %s", strconv.Quote(fitLine(text, 60)))
	}
	return v, nil
}

// arguments are on the command line, on standard input, or not given.
func (g *options) arguments(ctx context.Context, args []string) (json.RawMessage, error) {
	switch {
	case len(args) == 0, isArgWord(args[0]): // words are read by the tool's schema
		return nil, nil
	case args[0] != "-":
		return json.RawMessage(args[0]), nil
	}
	if isTerminal(g.in) {
		fmt.Fprintln(g.err, "reading the arguments from the terminal; end with Ctrl-D")
	}
	return readAll(ctx, g.in, sdk.MaxArguments)
}

// readAll reads standard input, and one byte more than limit. An interrupt ends the wait, not the read, which ends with
// the process.
func readAll(ctx context.Context, in io.Reader, limit int64) ([]byte, error) {
	return untilInterrupted(ctx, func() ([]byte, error) {
		text, err := io.ReadAll(io.LimitReader(in, limit+1))
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return text, nil
	})
}
