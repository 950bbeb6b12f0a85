// Package toolschema converts the input schemas of tools to what model vendors accept in a tool list.
//
// A keyword that a vendor cannot express is left out where that only permits more arguments, since the host checks each
// call against the plugin's own schema. Otherwise the schema is refused with the place and the reason. Names keep their
// order and numbers their digits; the same schema always gives the same bytes. References are followed inside the
// schema only; size, depth and expansion are bounded.
package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/internal/lazy"
)

// MCP returns a schema for inputSchema. The type of its root is "object", as MCP requires, and properties that are true
// or false are objects: some clients drop the whole list for one. A schema that needs neither keeps its bytes.
// https://modelcontextprotocol.io/specification/2025-11-25/server/tools
// https://github.com/modelcontextprotocol/python-sdk/pull/3354
func MCP(raw json.RawMessage) (json.RawMessage, error) {
	root, err := read(raw)
	if err != nil {
		return nil, err
	}
	before, err := encode(root)
	if err != nil {
		return nil, err
	}
	if err := requireType(root); err != nil {
		return nil, err
	}
	each(root, nullableToUnion)
	if properties := root.object("properties"); properties != nil {
		for _, name := range properties.names {
			o := newObject()
			switch properties.members[name] {
			case true:
			case false:
				o.set("not", newObject())
			default:
				continue
			}
			properties.members[name] = o
		}
	}
	after, err := encode(root)
	if err == nil && bytes.Equal(before, after) {
		return raw, nil
	}
	return after, err
}

// Gemini returns a schema for parametersJsonSchema: JSON Schema 2020-12 without $schema. Beside a reference the API
// accepts only a description and a default. https://ai.google.dev/api/caching#FunctionDeclaration
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
	each(s.root, referenceAlone)
	return s.bytes()
}

// anthropicKey is what the API requires of property names.
var anthropicKey = lazy.Regexp(`^[a-zA-Z0-9_.-]{1,64}$`)

// Anthropic returns a schema for input_schema: JSON Schema 2020-12 without combiners at the root. If the root lists
// properties and mentions no others, additionalProperties is false, so that models invent none. A property name that
// the API refuses is an error. https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
// https://github.com/anthropics/claude-code/issues/40075 and /79418 show what the API answers.
func Anthropic(raw json.RawMessage) (json.RawMessage, error) {
	s, err := open(raw)
	if err != nil {
		return nil, err
	}
	others := append([]string{"additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames",
		"dependentSchemas", "dependencies", "if", "then", "else"}, combiners...)
	own := s.root.object("properties")
	listsAll := own != nil && len(own.names) > 0 && !slices.ContainsFunc(others, s.root.has)
	if err := s.relaxForClaude(); err != nil {
		return nil, err
	}
	if listsAll {
		s.root.set("additionalProperties", false)
	}
	return s.bytes()
}

func (s *schema) relaxForClaude() error {
	if err := s.relax(); err != nil {
		return err
	}
	if properties := s.root.object("properties"); properties != nil {
		for _, name := range properties.names {
			if !anthropicKey().MatchString(name) {
				return fmt.Errorf("the name of its property %.80q does not match %s", name, anthropicKey())
			}
		}
	}
	return nil
}

// Bedrock returns a schema for inputSchema.json, whichever model reads it: Claude takes what Anthropic's API does, and
// Amazon Nova refuses all members of the root but three, $defs among them. So references are inlined; one that leads
// back to itself permits anything. https://github.com/pydantic/pydantic-ai/issues/1623 shows what the API answers.
func Bedrock(raw json.RawMessage) (json.RawMessage, error) {
	s, err := open(raw)
	if err != nil {
		return nil, err
	}
	if err := s.relaxForClaude(); err != nil {
		return nil, err
	}
	s.dropOpenReferences() // to the combiners
	c := converter{schema: s, active: map[string]bool{}}
	root := c.inline(s.root, &err).(*object)
	if err != nil {
		return nil, err
	}
	root.drop(slices.DeleteFunc(slices.Clone(root.names), func(name string) bool {
		return name == "type" || name == "properties" || name == "required"
	})...)
	if !root.has("properties") { // the API requires it, though it may be empty
		root.set("properties", newObject())
	}
	return encode(root)
}

// OpenAI returns a schema for parameters, and whether strict may be true with it. Even without strict the API requires
// an object with properties at the root, without combiners, enum or not, and items for every array.
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
	each(s.root, func(o *object) {
		_, isBool := o.members["items"].(bool)
		if isBool || !o.has("items") && slices.Contains(typeNames(o), "array") {
			o.set("items", newObject())
		}
	})
	if !s.root.has("properties") {
		s.root.set("properties", newObject())
	}
	if !s.root.has("required") {
		s.root.set("required", []any{})
	}
	parameters, err = s.bytes()
	return parameters, err == nil && s.isStrict(), err
}
