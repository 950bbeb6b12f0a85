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
	fields, err := elicit.ReadFields(q.RequestedSchema)
	if err != nil {
		return nil, fmt.Errorf("its form cannot be used: %w", err)
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
		content.Add(f.Name, value)
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

// askField asks until the answer is valid, ten times at most. It returns nil for an optional field that is left
// empty.
func (p *prompter) askField(ctx context.Context, f *elicit.Field) (json.RawMessage, error) {
	check, err := schema.CompileForeign(f.Schema)
	if err != nil {
		return nil, fmt.Errorf("the field %.60q of its form cannot be used: %w", f.Name, err)
	}
	label := f.Name
	if f.Title != "" && f.Title != f.Name {
		label = f.Title + " (" + f.Name + ")"
	}
	p.field(escapeForTerminal(blanks.Replace(label)), strings.Join(slices.DeleteFunc([]string{f.Description, hint(f)},
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
			case !f.Required:
				return nil, nil
			}
			fmt.Fprintln(p.out, "An answer is needed here.")
			continue
		}
		value := parseAnswer(f, text)
		if err := check.Validate(value); err != nil {
			fmt.Fprintln(p.out, indentRest(escapeForTerminal(err.Error())))
			continue
		}
		return value, nil
	}
	return nil, errors.New("no valid answer after ten attempts")
}

// hint says what can be typed.
func hint(f *elicit.Field) string {
	var lines []string
	for i, o := range f.Options() {
		line := fmt.Sprintf("%d  %s", i+1, o.Value)
		if o.Title != "" && o.Title != o.Value {
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
	case !f.Required:
		lines = append(lines, "Enter alone: no answer")
	}
	return strings.Join(lines, "\n")
}

// parseAnswer converts the typed text to JSON by the type of the field. Invalid text is left to the schema's check.
func parseAnswer(f *elicit.Field, text string) json.RawMessage {
	switch f.Type {
	case "array":
		var values []string
		for word := range strings.SplitSeq(text, ",") {
			values = append(values, chosen(f, strings.TrimSpace(word)))
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
		text = chosen(f, text)
	}
	out, _ := json.Marshal(text)
	return out
}

// chosen returns the option with a number, unless an option has exactly that text; otherwise the text.
func chosen(f *elicit.Field, text string) string {
	all := f.Options()
	n, err := strconv.Atoi(text)
	is := func(o elicit.Option) bool { return o.Value == text }
	if err != nil || n < 1 || n > len(all) || slices.ContainsFunc(all, is) {
		return text
	}
	return all[n-1].Value
}
