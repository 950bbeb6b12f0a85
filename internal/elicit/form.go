package elicit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// maxFields is how many fields a form may have.
const maxFields = 100

// A Form is what a person fills in: the schema of a flat object.
type Form struct {
	fields []*Field // in the order of the schema
}

// A Field is a property of a form, as MCP allows it: a text, a number, a yes or no, one or several of a list.
type Field struct {
	Name                 string          `json:"-"`
	Required             bool            `json:"-"`
	Schema               json.RawMessage `json:"-"` // the whole
	Type                 string
	Title, Description   string
	Default              json.RawMessage
	Format, Pattern      string
	MinLength, MaxLength *int
	Minimum, Maximum     *float64
	MinItems, MaxItems   *int
	Enum                 []json.RawMessage
	EnumNames            []string
	OneOf                []titled
	Items                *struct {
		Type  string
		Enum  []json.RawMessage
		AnyOf []titled
	}

	pattern *regexp.Regexp
}

type titled struct {
	Const json.RawMessage
	Title string
}

// ReadFields reads the properties of a form, also of one that ParseForm refuses. None is a form without fields.
func ReadFields(form json.RawMessage) (out []*Field, err error) {
	if len(bytes.TrimSpace(form)) == 0 {
		return nil, nil
	}
	var in struct {
		Properties json.RawMessage
		Required   []string
	}
	err = json.Unmarshal(form, &in)
	if kind := rawjson.First(in.Properties); err != nil || kind != 0 && kind != '{' && kind != 'n' {
		return nil, errForm
	}
	for _, m := range rawjson.ObjectOf(in.Properties) {
		f := &Field{Name: m.Name, Required: slices.Contains(in.Required, m.Name), Schema: m.Value}
		if rawjson.First(m.Value) != '{' || json.Unmarshal(m.Value, f) != nil {
			return nil, errForm
		}
		// Of two with one name the last one counts.
		out = append(slices.DeleteFunc(out, func(o *Field) bool { return o.Name == f.Name }), f)
		if len(out) > maxFields { // now, since to compare the names of all would take the square of their number
			return nil, fmt.Errorf("it has more than %d fields", maxFields)
		}
	}
	return out, nil
}

// ParseForm reads the schema of a form. Keywords that it does not know are ignored.
func ParseForm(schema json.RawMessage) (*Form, error) {
	fields, err := ReadFields(schema)
	if err != nil || fields == nil && len(bytes.TrimSpace(schema)) == 0 {
		return &Form{}, err
	}
	var in struct {
		Type     string
		Required []string
	}
	if json.Unmarshal(schema, &in) != nil || in.Type != "object" {
		return nil, errForm
	}
	for _, f := range fields {
		if err := f.prepare(); err != nil {
			return nil, err
		}
	}
	for _, name := range in.Required {
		if !slices.ContainsFunc(fields, func(f *Field) bool { return f.Name == name }) {
			return nil, fmt.Errorf("it requires %.60q, which is not a field", name)
		}
	}
	return &Form{fields}, nil
}

func (f *Field) prepare() (err error) {
	switch f.Type {
	case "string", "number", "integer", "boolean":
	case "array":
		if f.Items == nil || f.Items.Type != "" && f.Items.Type != "string" {
			return fmt.Errorf("its field %.60q is a list of what is not a choice", f.Name)
		}
	default:
		return fmt.Errorf("its field %.60q has the type %.40q; there are string, number, integer, boolean, and "+
			"array of choices", f.Name, f.Type)
	}
	if f.Pattern != "" {
		if f.pattern, err = regexp.Compile(f.Pattern); err != nil {
			return fmt.Errorf("its field %.60q has a pattern that cannot be used: %w", f.Name, err)
		}
	}
	return nil
}

// An Option is one of the values to choose from.
type Option struct{ Value, Title string }

// Options are the values to choose from; none for any value.
func (f *Field) Options() (out []Option) {
	add := func(value json.RawMessage, title string) {
		var text string
		if json.Unmarshal(value, &text) == nil {
			out = append(out, Option{text, title})
		}
	}
	choices, values := f.OneOf, f.Enum
	if f.Items != nil {
		choices, values = append(slices.Clip(choices), f.Items.AnyOf...), append(slices.Clip(values), f.Items.Enum...)
	}
	for _, c := range choices {
		add(c.Const, c.Title)
	}
	for i, value := range values {
		title := ""
		if i < len(f.EnumNames) {
			title = f.EnumNames[i]
		}
		add(value, title)
	}
	return out
}

// Secret returns the name of a field that asks for a secret by its name, its title or its format, "" if none does. The
// function reports whether what has a name is a secret.
func (f *Form) Secret(is func(name string) bool) string {
	for _, field := range f.fields {
		if is(field.Name) || is(field.Title) || field.Format == "password" {
			return field.Name
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
	known := map[string]json.RawMessage{}
	for _, field := range f.fields {
		value, there := values[field.Name]
		if !there {
			if field.Required {
				return nil, fmt.Errorf("%q is missing", field.Name)
			}
			continue
		}
		if why := field.check(value); why != "" {
			return nil, fmt.Errorf("%q %s", field.Name, why)
		}
		known[field.Name] = value
	}
	return json.Marshal(known)
}

// check says what a value must be, "" if it is that.
func (f *Field) check(value json.RawMessage) string {
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

func (f *Field) checkNumber(value json.RawMessage) string {
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

func (f *Field) checkList(value json.RawMessage) string {
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

func (f *Field) checkText(value json.RawMessage) string {
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
func isOneOf(s string, enum []json.RawMessage, options []titled) bool {
	is := func(raw json.RawMessage) bool {
		var text string
		return json.Unmarshal(raw, &text) == nil && text == s
	}
	return len(enum) == 0 && len(options) == 0 || slices.ContainsFunc(enum, is) ||
		slices.ContainsFunc(options, func(o titled) bool { return is(o.Const) })
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
