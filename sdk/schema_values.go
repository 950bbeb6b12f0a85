package sdk

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A value is one that a tag states: it must fit the schema that it stands in.
type value struct {
	path    string
	tag     string
	literal string // JSON
	list    bool   // literal is a list of values
	schema  *schema
}

// toCheck notes the values of a tag, to check when the schema is complete.
func (i *inferrer) toCheck(k schemaTag, s *schema, literal string) {
	if k.tag == "default" || k.tag == "examples" || k.tag == "enum" {
		i.values = append(i.values, value{path: strings.ReplaceAll(strings.Join(i.path, "."), ".[", "["), tag: k.tag,
			literal: literal, list: k.tag != "default", schema: s})
	}
}

// checkValues finds defaults, examples and enum values that the schema refuses.
func (i *inferrer) checkValues() {
	if len(i.values) == 0 || len(i.faults) > 0 {
		return
	}
	c := valueChecker{defs: map[string]map[string]any{}}
	for _, d := range i.defs {
		c.defs["#/$defs/"+d.name] = decoded(d.schema.text()).(map[string]any)
	}
	for _, v := range i.values {
		values := []any{decoded(v.literal)}
		if v.list {
			values = values[0].([]any)
		}
		s := decoded(v.schema.text()).(map[string]any)
		for _, one := range values {
			if problem := c.problem(s, one); problem != "" {
				i.path = []string{v.path}
				i.fault("tag %s: %s %s", v.tag, Encode(one), problem)
			}
		}
	}
}

func decoded(text string) (out any) {
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		panic(fmt.Sprintf("sdk: the JSON %s: %v", text, err))
	}
	return out
}

// A valueChecker validates against the schemas that this package makes. Hosts validate against any.
type valueChecker struct{ defs map[string]map[string]any }

// problem says what is wrong with a value, or "".
func (c *valueChecker) problem(s map[string]any, v any) string {
	if ref, ok := s["$ref"].(string); ok {
		return c.problem(c.defs[ref], v)
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		if list, ok := s[word].([]any); ok && !slices.ContainsFunc(list, func(sub any) bool {
			return c.problem(sub.(map[string]any), v) == ""
		}) {
			return "fits none of its types"
		}
	}
	if list, ok := s["enum"].([]any); ok &&
		!slices.ContainsFunc(list, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		return "is not one of the enum, " + joinJSON(list)
	}
	if want, ok := s["const"]; ok && want != v {
		return "is not " + string(Encode(want))
	}
	if !hasType(s["type"], v) {
		return "is not of the type " + joinJSON(s["type"])
	}
	switch v := v.(type) {
	case string:
		return textProblem(s, v)
	case float64:
		return numberProblem(s, v)
	case []any:
		return c.listProblem(s, v)
	case map[string]any:
		return c.objectProblem(s, v)
	}
	return ""
}

func joinJSON(v any) string {
	list, several := v.([]any)
	if !several {
		list = []any{v}
	}
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = string(Encode(one))
	}
	return strings.Join(out, ", ")
}

func hasType(want, v any) bool {
	names, several := want.([]any)
	if !several {
		names = []any{want}
	}
	if want == nil {
		return true
	}
	is := "null"
	switch v := v.(type) {
	case string:
		is = "string"
	case bool:
		is = "boolean"
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	case float64:
		if is = "number"; v == math.Trunc(v) && slices.Contains(names, "integer") {
			is = "integer"
		}
	}
	return slices.Contains(names, any(is))
}

func limitProblem(s map[string]any, word string, got float64, refused func(got, limit float64) bool) string {
	if limit, ok := s[word].(float64); ok && refused(got, limit) {
		return fmt.Sprintf("does not fit %s, which is %v", word, limit)
	}
	return ""
}

func less(a, b float64) bool { return a < b }
func more(a, b float64) bool { return a > b }

func numberProblem(s map[string]any, v float64) string {
	return cmp.Or(limitProblem(s, "minimum", v, less), limitProblem(s, "maximum", v, more),
		limitProblem(s, "exclusiveMinimum", v, func(a, b float64) bool { return a <= b }),
		limitProblem(s, "exclusiveMaximum", v, func(a, b float64) bool { return a >= b }),
		limitProblem(s, "multipleOf", v, func(a, b float64) bool {
			n := a / b
			return math.Abs(n-math.Round(n)) > 1e-9*math.Max(1, math.Abs(n))
		}))
}

func textProblem(s map[string]any, v string) string {
	length := float64(utf8.RuneCountInString(v))
	out := cmp.Or(limitProblem(s, "minLength", length, less), limitProblem(s, "maxLength", length, more))
	if pattern, ok := s["pattern"].(string); ok && out == "" && !regexp.MustCompile(pattern).MatchString(v) {
		return "does not match the pattern " + pattern
	}
	if format, ok := s["format"].(string); ok && out == "" && !hasFormat(format, v) {
		return "is not of the format " + format
	}
	return out
}

// hasFormat knows the formats that the standard library reads.
func hasFormat(format, v string) bool {
	var err error
	switch format {
	case "date-time":
		_, err = time.Parse(time.RFC3339, v)
	case "date":
		_, err = time.Parse(time.DateOnly, v)
	case "ipv4", "ipv6":
		var a netip.Addr
		a, err = netip.ParseAddr(v)
		return err == nil && a.Is4() == (format == "ipv4")
	case "uri":
		var u *url.URL
		u, err = url.Parse(v)
		return err == nil && u.Scheme != ""
	case "email":
		local, host, ok := strings.Cut(v, "@")
		return ok && local != "" && host != "" && !strings.ContainsAny(v, " \t\r\n")
	}
	return err == nil
}

func (c *valueChecker) listProblem(s map[string]any, v []any) string {
	if out := cmp.Or(limitProblem(s, "minItems", float64(len(v)), less),
		limitProblem(s, "maxItems", float64(len(v)), more)); out != "" {
		return out
	}
	items, _ := s["items"].(map[string]any)
	for i, item := range v {
		if s["uniqueItems"] == true && slices.ContainsFunc(v[:i], func(e any) bool { return reflect.DeepEqual(e, item) }) {
			return fmt.Sprintf("has %s twice", Encode(item))
		}
		if out := c.problem(items, item); out != "" {
			return fmt.Sprintf("has an item %s that %s", Encode(item), out)
		}
	}
	return ""
}

func (c *valueChecker) objectProblem(s map[string]any, v map[string]any) string {
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, there := v[name.(string)]; !there {
			return fmt.Sprintf("has no %q, which is required", name)
		}
	}
	properties, _ := s["properties"].(map[string]any)
	names, _ := s["propertyNames"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		sub, known := properties[name].(map[string]any)
		if !known {
			if s["additionalProperties"] == false {
				return fmt.Sprintf("has an unknown member %q", name)
			}
			sub, _ = s["additionalProperties"].(map[string]any)
		}
		if out := cmp.Or(c.problem(names, name), c.problem(sub, v[name])); out != "" {
			return fmt.Sprintf("has a member %q that %s", name, out)
		}
	}
	return cmp.Or(limitProblem(s, "minProperties", float64(len(v)), less),
		limitProblem(s, "maxProperties", float64(len(v)), more))
}
