package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/elicit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/schema"
)

// Capabilities are MCP's elicitations: forms and addresses to open.
func (p *prompter) Capabilities() json.RawMessage {
	return json.RawMessage(`{"elicitation":{"form":{},"url":{}}}`)
}

// AnswerInput asks the person the questions of a tool, one after the other.
func (p *prompter) AnswerInput(ctx context.Context, r *host.InputRequest) (map[string]json.RawMessage, error) {
	answered, err := p.open(ctx, subjectOf(r.Tool, r.Via))
	if err != nil {
		return nil, err
	}
	defer answered()
	answers := map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(r.Requests)) {
		q, is, err := elicit.Read(r.Requests[key])
		switch {
		case err != nil:
			return nil, fmt.Errorf("its question cannot be used: %w", err)
		case !is:
			return nil, fmt.Errorf("a terminal cannot answer %.60s", rawjson.ObjectOf(r.Requests[key]).Get("method"))
		}
		answer, err := p.elicit(ctx, r, q)
		if err != nil {
			return nil, err
		}
		if answers[key], err = json.Marshal(answer); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func (p *prompter) elicit(ctx context.Context, r *host.InputRequest, q *elicit.Question) (*elicit.Answer, error) {
	fmt.Fprintf(p.out, "\n%s asks you something; your answer goes to plugin %s, and approves nothing.\n",
		p.g.paint(bold, escapeForTerminal(r.Tool.Name)), escapeForTerminal(r.Tool.Plugin))
	if r.Via != nil {
		p.field("called by", "plugin "+r.Via.Plugin+", during a call of "+r.Via.Tool)
	}
	p.field("question", q.Message)
	if q.Mode == "url" {
		return p.elicitURL(ctx, q.URL)
	}
	fields, err := readFields(q.RequestedSchema)
	if err != nil {
		return nil, err
	}
	question := "Answer it? The tool gets what you type. [y/N] "
	if len(fields) == 0 {
		question = "Yes? [y/N] "
	}
	if yes, err := p.yes(ctx, question); !yes {
		return &elicit.Answer{Action: elicit.Decline}, err
	}
	var content rawjson.Object
	for _, f := range fields {
		value, err := p.askField(ctx, f)
		if err != nil {
			return nil, err
		}
		content.Add(f.name, value)
	}
	return &elicit.Answer{Action: elicit.Accept, Content: content.JSON()}, nil
}

// elicitURL asks the person to open an address. It is shown whole: the person has to judge its host, of which letters
// of other scripts can look like those of a known one, so that it is also shown as it is looked up.
func (p *prompter) elicitURL(ctx context.Context, address string) (*elicit.Answer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("the address that it wants opened is not a web address: %.200q", address)
	}
	p.field("address", address)
	p.field("its host", u.Host)
	if strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }) {
		name, _ := idna.Lookup.ToASCII(u.Hostname())
		p.field("looked up as", cmp.Or(name, "nothing: it is not a name"))
	}
	yes, err := p.yes(ctx, "Open it in a browser yourself if you trust it. Done? [y/N] ")
	if !yes {
		return &elicit.Answer{Action: elicit.Decline}, err
	}
	return &elicit.Answer{Action: elicit.Accept}, nil
}

// A field is a property of a form.
type field struct {
	name     string
	required bool
	schema   json.RawMessage
	fieldSchema
}

// A fieldSchema is the schema of a form's property, as MCP allows it: a text, a number, a yes or no, one or several of
// a list.
type fieldSchema struct {
	Type               string
	Title, Description string
	Default            json.RawMessage
	Enum, EnumNames    []string
	OneOf              []option
	Items              struct {
		Enum  []string
		AnyOf []option
	}
}

type option struct{ Const, Title string }

// maxFields is how many fields a form may have.
const maxFields = 100

// readFields returns the properties of the form in the order of the schema.
func readFields(form json.RawMessage) (out []field, err error) {
	var in struct {
		Properties json.RawMessage
		Required   []string
	}
	if len(form) > 0 {
		if err := json.Unmarshal(form, &in); err != nil {
			return nil, fmt.Errorf("its form cannot be read: %w", err)
		}
	}
	for _, m := range rawjson.ObjectOf(in.Properties) { // none: a question without a form
		f := field{name: m.Name, required: slices.Contains(in.Required, m.Name), schema: m.Value}
		if err := json.Unmarshal(f.schema, &f.fieldSchema); err != nil {
			return nil, fmt.Errorf("its form cannot be read: %w", err)
		}
		if len(out) == maxFields {
			return nil, fmt.Errorf("its form has more than %d fields", maxFields)
		}
		out = append(out, f)
	}
	return out, nil
}

// askField asks until the answer is valid, ten times at most. It returns nil for an optional field that is left
// empty.
func (p *prompter) askField(ctx context.Context, f field) (json.RawMessage, error) {
	check, err := schema.CompileForeign(f.schema)
	if err != nil {
		return nil, fmt.Errorf("the field %.60q of its form cannot be used: %w", f.name, err)
	}
	label := f.name
	if f.Title != "" && f.Title != f.name {
		label = f.Title + " (" + f.name + ")"
	}
	p.field(escapeForTerminal(blanks.Replace(label)), strings.Join(slices.DeleteFunc([]string{f.Description, f.hint()},
		func(s string) bool { return s == "" }), "\n"))
	for range 10 {
		text, err := p.line(ctx, p.last("> "))
		if ctx.Err() != nil {
			fmt.Fprintln(p.out)
		}
		if err != nil {
			return nil, err
		}
		text = strings.TrimSpace(text)
		if text == "" {
			switch {
			case f.Default != nil:
				return f.Default, nil
			case !f.required:
				return nil, nil
			}
			fmt.Fprintln(p.out, "An answer is needed here.")
			continue
		}
		value := f.parse(text)
		if err := check.Validate(value); err != nil {
			fmt.Fprintln(p.out, indentRest(escapeForTerminal(err.Error())))
			continue
		}
		return value, nil
	}
	return nil, errors.New("no valid answer after ten attempts")
}

// options are the values to choose from, with their titles; nil for any value.
func (f *fieldSchema) options() (out []option) {
	out = append(slices.Clone(f.OneOf), f.Items.AnyOf...)
	for i, value := range append(slices.Clone(f.Enum), f.Items.Enum...) {
		o := option{Const: value}
		if i < len(f.EnumNames) {
			o.Title = f.EnumNames[i]
		}
		out = append(out, o)
	}
	return out
}

// hint says what can be typed.
func (f *field) hint() string {
	var lines []string
	for i, o := range f.options() {
		line := fmt.Sprintf("%d  %s", i+1, o.Const)
		if o.Title != "" && o.Title != o.Const {
			line += "  " + o.Title
		}
		lines = append(lines, line)
	}
	switch {
	case f.Type == "array":
		lines = append(lines, "numbers or values, with commas between them")
	case f.Type == "boolean":
		lines = append(lines, "y or n")
	case len(lines) == 0 && f.Type != "string":
		lines = append(lines, "a value of type "+f.Type)
	}
	switch {
	case f.Default != nil:
		lines = append(lines, "Enter alone: "+string(f.Default))
	case !f.required:
		lines = append(lines, "Enter alone: no answer")
	}
	return strings.Join(lines, "\n")
}

// parse converts the typed text to JSON by the type of the field. Invalid text is left to the schema's check.
func (f *fieldSchema) parse(text string) json.RawMessage {
	switch f.Type {
	case "array":
		var values []string
		for word := range strings.SplitSeq(text, ",") {
			values = append(values, f.choose(strings.TrimSpace(word)))
		}
		out, _ := json.Marshal(values) // strings have a JSON form
		return out
	case "boolean":
		switch strings.ToLower(text) {
		case "y", "yes", "true":
			return json.RawMessage("true")
		case "n", "no", "false":
			return json.RawMessage("false")
		}
	case "number", "integer":
		if json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	default:
		text = f.choose(text)
	}
	out, _ := json.Marshal(text)
	return out
}

// choose returns the option with a number, unless an option has exactly that text; otherwise the text.
func (f *fieldSchema) choose(text string) string {
	all := f.options()
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > len(all) || slices.ContainsFunc(all, func(o option) bool { return o.Const == text }) {
		return text
	}
	return all[n-1].Const
}
