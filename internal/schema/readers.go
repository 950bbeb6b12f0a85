package schema

import (
	"strings"
)

// readers are the keywords whose values need reading of their own. Filled by init: some read schemas, which need this table.
var readers map[string]func(r *reader, n *node, at string, v any) error

func init() {
	readers = map[string]func(*reader, *node, string, any) error{
		"type":              readType,
		"enum":              readEnum,
		"const":             readConst,
		"required":          readRequired,
		"uniqueItems":       readUnique,
		"pattern":           readPattern,
		"patternProperties": readPatternProperties,
		"dependentRequired": readDependentRequired,
		"dependencies":      readDependencies,
		"items":             readItems,
		"additionalItems":   readAdditionalItems,
		"exclusiveMinimum":  readExclusiveMinimum,
		"exclusiveMaximum":  readExclusiveMaximum,
		"$ref":              readRef,
		"$dynamicRef":       readDynamicRef,
		"$recursiveRef":     readDynamicRef,
	}
}

func readPattern(r *reader, n *node, at string, v any) (err error) {
	s, ok := v.(string)
	if !ok {
		return fault(at, "must be a regular expression in a string, got %s", showPlain(v))
	}
	n.pattern, err = r.patternOf(n, at, s)
	return err
}

func readPatternProperties(r *reader, n *node, at string, v any) (err error) {
	if n.patternProperties, err = r.members(at, v); err != nil {
		return err
	}
	seen, all := map[string]bool{}, n.patternProperties
	n.patternProperties = nil
	for _, m := range all {
		p, err := r.patternOf(n, at+"/"+pointerStep(m.name), m.name)
		if err != nil {
			return err
		}
		if p == nil {
			n.openEnded = true
			continue
		}
		if seen[p.re.String()] {
			return fault(at, "pattern %s is there twice, written differently", quote(m.name))
		}
		seen[p.re.String()] = true
		m.pattern = p
		n.patternProperties = append(n.patternProperties, m)
	}
	return nil
}

func readDependentRequired(_ *reader, n *node, at string, v any) error {
	o, ok := v.(*object)
	if !ok {
		return fault(at, "must be an object of name lists, got %s", showPlain(v))
	}
	for _, name := range o.names {
		needs, err := names(at+"/"+pointerStep(name), o.members[name])
		if err != nil {
			return err
		}
		n.dependentRequired = append(n.dependentRequired, dependency{name: name, needs: needs})
	}
	return nil
}

// readDependencies reads the older keyword that became dependentRequired and dependentSchemas.
func readDependencies(r *reader, n *node, at string, v any) error {
	o, ok := v.(*object)
	if !ok {
		return fault(at, "must be an object of schemas and name lists, got %s", showPlain(v))
	}
	for _, name := range o.names {
		inner := at + "/" + pointerStep(name)
		if _, list := o.members[name].([]any); list {
			needs, err := names(inner, o.members[name])
			if err != nil {
				return err
			}
			n.dependentRequired = append(n.dependentRequired, dependency{name: name, needs: needs})
			continue
		}
		sub, err := r.schema(inner, o.members[name])
		if err != nil {
			return err
		}
		n.dependentSchemas = append(n.dependentSchemas, member{name: name, node: sub})
	}
	return nil
}

func readItems(r *reader, n *node, at string, v any) (err error) {
	list, ok := v.([]any)
	switch {
	case !ok:
		n.items, err = r.schema(at, v)
		return err
	case r.dialect >= draft2020:
		return fault(at, "must be one schema, got array; a list of schemas is \"prefixItems\" now, or declare an older \"$schema\"")
	}
	n.tuple = true
	if len(list) > 0 {
		n.prefixItems, err = r.schemaList(at, v)
	}
	return err
}

func readAdditionalItems(r *reader, n *node, at string, v any) (err error) {
	n.additionalItems, err = r.schema(at, v)
	return err
}

func readExclusiveMinimum(r *reader, n *node, at string, v any) (err error) {
	if flag, ok := v.(bool); ok && r.dialect == draft4 {
		n.exclusiveMinimumFlag = flag
		return nil
	}
	n.exclusiveMinimum, err = readBound(at, v)
	return err
}

func readExclusiveMaximum(r *reader, n *node, at string, v any) (err error) {
	if flag, ok := v.(bool); ok && r.dialect == draft4 {
		n.exclusiveMaximumFlag = flag
		return nil
	}
	n.exclusiveMaximum, err = readBound(at, v)
	return err
}

func readRef(r *reader, n *node, at string, v any) error {
	ref, ok := v.(string)
	switch {
	case !ok:
		return fault(at, "must be a string, got %s", showPlain(v))
	case ref == "#" || strings.HasPrefix(ref, "#/"):
		n.refText = ref
		r.refs = append(r.refs, n)
		return nil
	case strings.HasPrefix(ref, "#"):
		return fault(at, "%s names an anchor; write a pointer such as \"#/$defs/name\"", quote(ref))
	}
	return fault(at, "%s leads out of this schema; only \"#/...\" is allowed, nothing is ever fetched", quote(ref))
}

func readDynamicRef(_ *reader, _ *node, at string, _ any) error {
	return fault(at, "dynamic references are not supported; use $ref")
}
