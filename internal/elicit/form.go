package elicit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxFields is how many fields a form may have.
const maxFields = 100

// A Form is what a person fills in: the schema of a flat object.
type Form struct {
	fields   map[string]*field
	required []string
}

// A field is a property of a form, as MCP allows it: a text, a number, a yes or no, one or several of a list.
type field struct {
	Type                 string
	Title                string
	Format, Pattern      string
	MinLength, MaxLength *int
	Minimum, Maximum     *float64
	MinItems, MaxItems   *int
	Enum                 []json.RawMessage
	OneOf                []option
	Items                *struct {
		Type  string
		Enum  []json.RawMessage
		AnyOf []option
	}

	pattern *regexp.Regexp
}

type option struct{ Const json.RawMessage }

// ParseForm reads the schema of a form. None is a form without fields. Keywords that it does not know are ignored.
func ParseForm(schema json.RawMessage) (*Form, error) {
	out := &Form{fields: map[string]*field{}}
	if len(bytes.TrimSpace(schema)) == 0 {
		return out, nil
	}
	var in struct {
		Type       string
		Properties map[string]*field
		Required   []string
	}
	if err := json.Unmarshal(schema, &in); err != nil || in.Type != "object" {
		return nil, errForm
	}
	if len(in.Properties) > maxFields {
		return nil, fmt.Errorf("it has %d fields; the limit is %d", len(in.Properties), maxFields)
	}
	for name, f := range in.Properties {
		if f == nil {
			return nil, errForm
		}
		switch f.Type {
		case "string", "number", "integer", "boolean":
		case "array":
			if f.Items == nil || f.Items.Type != "" && f.Items.Type != "string" {
				return nil, fmt.Errorf("its field %.60q is a list of what is not a choice", name)
			}
		default:
			return nil, fmt.Errorf("its field %.60q has the type %.40q; there are string, number, integer, boolean, and "+
				"array of choices", name, f.Type)
		}
		if f.Pattern != "" {
			var err error
			if f.pattern, err = regexp.Compile(f.Pattern); err != nil {
				return nil, fmt.Errorf("its field %.60q has a pattern that cannot be used: %w", name, err)
			}
		}
		out.fields[name] = f
	}
	for _, name := range in.Required {
		if out.fields[name] == nil {
			return nil, fmt.Errorf("it requires %.60q, which is not a field", name)
		}
	}
	out.required = in.Required
	return out, nil
}

// Secret returns the name of a field that asks for a secret by its name, its title or its format, "" if none does. The
// function reports whether what has a name is a secret.
func (f *Form) Secret(is func(name string) bool) string {
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		if field := f.fields[name]; is(name) || is(field.Title) || field.Format == "password" {
			return name
		}
	}
	return ""
}

// Check checks the content of an answer, and returns it without what is no field of the form.
func (f *Form) Check(content json.RawMessage) (json.RawMessage, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(content, &values); err != nil || values == nil {
		return nil, fmt.Errorf("it must be an object, not %.40s", content)
	}
	for _, name := range f.required {
		if _, there := values[name]; !there {
			return nil, fmt.Errorf("%q is missing", name)
		}
	}
	for name, value := range values {
		field := f.fields[name]
		if field == nil {
			delete(values, name)
			continue
		}
		if why := field.check(value); why != "" {
			return nil, fmt.Errorf("%q %s", name, why)
		}
	}
	return json.Marshal(values)
}

// check says what a value must be, "" if it is that.
func (f *field) check(value json.RawMessage) string {
	switch f.Type {
	case "boolean":
		if s := string(value); s != "true" && s != "false" {
			return "must be true or false"
		}
	case "number", "integer":
		return f.checkNumber(value)
	case "array":
		return f.checkList(value)
	default:
		return f.checkText(value)
	}
	return ""
}

func (f *field) checkNumber(value json.RawMessage) string {
	var n float64
	if json.Unmarshal(value, &n) != nil || string(value) == "null" {
		return "must be a number"
	}
	switch {
	case f.Type == "integer" && n != math.Trunc(n):
		return "must be a whole number"
	case f.Minimum != nil && n < *f.Minimum:
		return fmt.Sprintf("must be at least %v", *f.Minimum)
	case f.Maximum != nil && n > *f.Maximum:
		return fmt.Sprintf("must be at most %v", *f.Maximum)
	}
	return ""
}

func (f *field) checkList(value json.RawMessage) string {
	var list []string
	if json.Unmarshal(value, &list) != nil || list == nil {
		return "must be a list of texts"
	}
	switch {
	case f.MinItems != nil && len(list) < *f.MinItems:
		return fmt.Sprintf("must have at least %d items", *f.MinItems)
	case f.MaxItems != nil && len(list) > *f.MaxItems:
		return fmt.Sprintf("must have at most %d items", *f.MaxItems)
	}
	for _, s := range list {
		if !isOneOf(s, f.Items.Enum, f.Items.AnyOf) {
			return "must have only what is in its list"
		}
	}
	return ""
}

func (f *field) checkText(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil || string(value) == "null" {
		return "must be a text"
	}
	n := utf8.RuneCountInString(s)
	switch {
	case f.MinLength != nil && n < *f.MinLength:
		return fmt.Sprintf("must have at least %d characters", *f.MinLength)
	case f.MaxLength != nil && n > *f.MaxLength:
		return fmt.Sprintf("must have at most %d characters", *f.MaxLength)
	case f.pattern != nil && !f.pattern.MatchString(s):
		return "must match " + f.Pattern
	case !isOneOf(s, f.Enum, f.OneOf):
		return "must be one of its list"
	case !hasFormat(s, f.Format):
		return "must be of the format " + f.Format
	}
	return ""
}

// isOneOf reports whether a text is in one of the lists, or both are empty.
func isOneOf(s string, enum []json.RawMessage, options []option) bool {
	is := func(raw json.RawMessage) bool {
		var text string
		return json.Unmarshal(raw, &text) == nil && text == s
	}
	return len(enum) == 0 && len(options) == 0 || slices.ContainsFunc(enum, is) ||
		slices.ContainsFunc(options, func(o option) bool { return is(o.Const) })
}

// hasFormat knows MCP's formats, and accepts any text for others.
func hasFormat(s, format string) bool {
	var err error
	switch format {
	case "date":
		_, err = time.Parse(time.DateOnly, s)
	case "date-time":
		_, err = time.Parse(time.RFC3339, s)
	case "uri":
		var u *url.URL
		u, err = url.Parse(s)
		return err == nil && u.Scheme != ""
	case "email":
		name, domain, found := strings.Cut(s, "@")
		return found && name != "" && domain != "" && !strings.ContainsAny(s, " \t\r\n")
	}
	return err == nil
}
