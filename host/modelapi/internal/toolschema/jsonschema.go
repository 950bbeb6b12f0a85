package toolschema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/host/internal/lazy"
)

// MCP gives a schema as it is but for the type of its root, which MCP requires, and for properties of it that are true
// or false, of which some clients drop the whole list.
// https://modelcontextprotocol.io/specification/2025-11-25/server/tools
// https://github.com/modelcontextprotocol/python-sdk/pull/3354
func MCP(raw json.RawMessage) (json.RawMessage, error) {
	root, err := read(raw)
	if err != nil {
		return nil, err
	}
	if !root.has("type") {
		root.lead("type", "object")
	}
	each(root, nullUnion)
	if properties := root.object("properties"); properties != nil {
		for _, name := range properties.names {
			properties.members[name] = spelled(properties.members[name])
		}
	}
	return encode(root)
}

// spelled writes true and false as objects that say the same.
func spelled(value any) any {
	o := newObject()
	switch value {
	case true:
	case false:
		o.set("not", newObject())
	default:
		return value
	}
	return o
}

// Gemini gives a schema for parametersJsonSchema, which takes JSON Schema: 2020-12, without $schema. Beside a reference
// only a description and a default may stand. https://ai.google.dev/api/caching#FunctionDeclaration
// https://github.com/anomalyco/opencode/issues/12295 shows what the API answers.
func Gemini(raw json.RawMessage) (json.RawMessage, error) {
	s, err := open(raw)
	if err != nil {
		return nil, err
	}
	if s.root.has("$ref") {
		if err := s.relax(); err != nil {
			return nil, err
		}
	}
	each(s.root, bareRef)
	return s.bytes()
}

// bareRef leaves out what stands beside a reference, which only widens what is allowed, but for shared definitions.
func bareRef(o *object) {
	if !o.has("$ref") {
		return
	}
	for _, name := range slices.Clone(o.names) {
		if !slices.Contains([]string{"$ref", "description", "default", "$defs", "definitions"}, name) {
			o.drop(name)
		}
	}
}

// anthropicKey is what the API demands of the names of arguments.
var anthropicKey = lazy.Regexp(`^[a-zA-Z0-9_.-]{1,64}$`)

// Anthropic gives a schema for input_schema: JSON Schema 2020-12 without combiners at the root, and with
// additionalProperties false there when it lists properties and says nothing about others, so that models invent none.
// A name of an argument that the API refuses is an error.
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
// https://github.com/anthropics/claude-code/issues/40075 and /79418 show what the API answers.
func Anthropic(raw json.RawMessage) (json.RawMessage, error) {
	s, err := open(raw)
	if err != nil {
		return nil, err
	}
	closed := s.listsAll()
	if err := s.relax(); err != nil {
		return nil, err
	}
	if properties := s.root.object("properties"); properties != nil {
		for _, name := range properties.names {
			if !anthropicKey().MatchString(name) {
				return nil, fmt.Errorf("the name of its property %.80q does not match %s", name, anthropicKey())
			}
		}
	}
	if closed {
		s.root.set("additionalProperties", false)
	}
	return s.bytes()
}

// listsAll says that the root names properties, and names no others in another way.
func (s *schema) listsAll() bool {
	others := append([]string{"additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames",
		"dependentSchemas", "dependencies", "if", "then", "else"}, combiners...)
	properties := s.root.object("properties")
	return properties != nil && len(properties.names) > 0 && !slices.ContainsFunc(others, s.root.has)
}

// OpenAI gives a schema for parameters, and whether strict may be true with it. Not strict, the API still wants an
// object with properties at the root, no combiners, enum or not there, and items for every array.
// https://github.com/langchain-ai/langchainjs/issues/9804 and https://github.com/sigoden/aichat/pull/1049 show what the
// API answers.
func OpenAI(raw json.RawMessage) (parameters json.RawMessage, strict bool, err error) {
	s, err := open(raw)
	if err != nil {
		return nil, false, err
	}
	if err := s.relax("enum", "const", "not"); err != nil {
		return nil, false, err
	}
	each(s.root, withItems)
	if !s.root.has("properties") {
		s.root.set("properties", newObject())
	}
	if !s.root.has("required") {
		s.root.set("required", []any{})
	}
	parameters, err = s.bytes()
	return parameters, err == nil && s.strict(), err
}

// withItems says of arrays whose items have no schema object that these may be anything.
func withItems(o *object) {
	_, fixed := o.members["items"].(bool)
	if fixed || !o.has("items") && slices.Contains(kinds(o.members["type"]), "array") {
		o.set("items", newObject())
	}
}

// kinds are the types that the type keyword names.
func kinds(value any) (out []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}
