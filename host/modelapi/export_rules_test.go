package modelapi_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/modelapi"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A vendorRule is one thing that a vendor says, or that its API answers with a refusal of the whole request.
type vendorRule struct {
	formats []modelapi.Format
	says    string
	source  string
	broken  func(e exported) string // how, or ""
}

// An exported tool is an item of a tool list, taken apart.
type exported struct {
	tool    map[string]any // as in the list
	inner   map[string]any // what holds the name
	schema  map[string]any // nil when there is none
	openAPI bool
}

func takeApart(f modelapi.Format, tool map[string]any) exported {
	e := exported{tool: tool, inner: tool, openAPI: f == modelapi.FormatGeminiOpenAPI}
	switch f {
	case modelapi.FormatOpenAI, modelapi.FormatCohere:
		e.inner, _ = tool["function"].(map[string]any)
	case modelapi.FormatBedrock:
		e.inner, _ = tool["toolSpec"].(map[string]any)
		schema, _ := e.inner["inputSchema"].(map[string]any)
		e.schema, _ = schema["json"].(map[string]any)
		return e
	}
	key := map[modelapi.Format]string{modelapi.FormatOpenAI: "parameters", modelapi.FormatOpenAIResponses: "parameters",
		modelapi.FormatAnthropic: "input_schema", modelapi.FormatCohere: "parameters",
		modelapi.FormatGemini: "parametersJsonSchema", modelapi.FormatGeminiOpenAPI: "parameters",
		modelapi.FormatMCP:  "inputSchema",
		modelapi.FormatText: "parameters"}[f]
	e.schema, _ = e.inner[key].(map[string]any)
	return e
}

var (
	openAIs = []modelapi.Format{modelapi.FormatOpenAI, modelapi.FormatOpenAIResponses}
	claude  = []modelapi.Format{modelapi.FormatAnthropic}
	openAPI = []modelapi.Format{modelapi.FormatGeminiOpenAPI}
	rooted  = []modelapi.Format{modelapi.FormatOpenAI, modelapi.FormatOpenAIResponses, modelapi.FormatAnthropic,
		modelapi.FormatGemini, modelapi.FormatBedrock, modelapi.FormatCohere, modelapi.FormatMCP, modelapi.FormatText}
	amazon = []modelapi.Format{modelapi.FormatBedrock}
)

var vendorRules = []vendorRule{
	{openAIs[:1], "a tool has a type and a function", "https://developers.openai.com/api/docs/guides/function-calling",
		func(e exported) string { return keys(e.tool, "type", "function") }},
	{openAIs[:1], "a function has these members", "https://developers.openai.com/api/docs/guides/function-calling",
		func(e exported) string { return keys(e.inner, "name", "description", "parameters", "strict") }},
	{openAIs[1:], "a tool is flat", "https://developers.openai.com/api/docs/guides/function-calling",
		func(e exported) string { return keys(e.tool, "type", "name", "description", "parameters", "strict") }},
	{openAIs, "names have 64 letters, digits, _ and -", "https://developers.openai.com/api/docs/guides/function-calling",
		func(e exported) string { return name(e, `^[a-zA-Z0-9_-]{1,64}$`) }},
	{openAIs, "no oneOf, anyOf, allOf, enum or not at the top", "https://github.com/langchain-ai/langchainjs/issues/9804",
		func(e exported) string { return without(e.schema, "oneOf", "anyOf", "allOf", "enum", "not", "$ref") }},
	{openAIs, "the object at the top has properties", "https://developers.openai.com/api/docs/guides/function-calling",
		func(e exported) string { return with(e.schema, "properties") }},
	{openAIs, "arrays have items", "https://github.com/sigoden/aichat/pull/1049",
		func(e exported) string {
			return every(e.schema, func(s map[string]any) string {
				if slices.Contains(typesIn(s), "array") {
					return with(s, "items")
				}
				return ""
			})
		}},
	{openAIs, "strict needs structured outputs",
		"https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas", brokenStrict},
	{claude, "a tool has these members and no others",
		"https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools",
		func(e exported) string { return keys(e.tool, "name", "description", "input_schema") }},
	{claude, "names have 64 letters, digits, _ and -",
		"https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools",
		func(e exported) string { return name(e, `^[a-zA-Z0-9_-]{1,64}$`) }},
	{claude, "no oneOf, allOf or anyOf at the top", "https://github.com/anthropics/claude-code/issues/40075",
		func(e exported) string { return without(e.schema, "oneOf", "anyOf", "allOf", "$ref") }},
	{claude, "property keys have 64 letters, digits, _, . and -", "https://github.com/anthropics/claude-code/issues/79418",
		func(e exported) string { return propertyNames(e.schema, `^[a-zA-Z0-9_.-]{1,64}$`) }},
	{[]modelapi.Format{modelapi.FormatGemini}, "a declaration has these members",
		"https://ai.google.dev/api/caching#FunctionDeclaration",
		func(e exported) string { return keys(e.tool, "name", "description", "parametersJsonSchema") }},
	{[]modelapi.Format{modelapi.FormatGemini, modelapi.FormatGeminiOpenAPI},
		"names start with a letter or _ and have at most 64 characters",
		"https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration",
		func(e exported) string { return name(e, `^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`) }},
	{amazon, "a tool is a toolSpec", "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Tool.html",
		func(e exported) string { return keys(e.tool, "toolSpec") }},
	{amazon, "a toolSpec has these members",
		"https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html",
		func(e exported) string { return keys(e.inner, "name", "description?", "inputSchema") }},
	{amazon, "names have 64 letters, digits, _ and -",
		"https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html",
		func(e exported) string { return name(e, `^[a-zA-Z0-9_-]{1,64}$`) }},
	{amazon, "three members at the top of a schema, for Nova", "https://github.com/pydantic/pydantic-ai/issues/1623",
		func(e exported) string { return keys(e.schema, "type", "properties", "required?") }},
	{amazon, "no references, as there is no place for definitions", "https://github.com/pydantic/pydantic-ai/issues/1623",
		func(e exported) string {
			return every(e.schema, func(s map[string]any) string { return without(s, "$ref", "$defs", "definitions") })
		}},
	{amazon, "property keys as Claude wants them", "https://github.com/anthropics/claude-code/issues/79418",
		func(e exported) string { return propertyNames(e.schema, `^[a-zA-Z0-9_.-]{1,64}$`) }},
	{[]modelapi.Format{modelapi.FormatCohere}, "a function has these members", "https://docs.cohere.com/reference/chat",
		func(e exported) string {
			return keys(e.tool, "type", "function") + keys(e.inner, "name", "description", "parameters")
		}},
	{[]modelapi.Format{modelapi.FormatText}, "a tool has these members", "the text itself",
		func(e exported) string { return keys(e.tool, "name", "description", "parameters") }},
	{openAPI, "a declaration has these members", "https://ai.google.dev/api/caching#FunctionDeclaration",
		func(e exported) string { return keys(e.tool, "name", "description", "parameters?") }},
	{openAPI, "parameter names start with a letter or _ and have at most 64 letters, digits and _",
		"https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration",
		func(e exported) string { return propertyNames(e.schema, `^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`) }},
	{openAPI, "only the keywords of the subset", "https://ai.google.dev/api/caching#Schema",
		func(e exported) string { return every(e.schema, brokenSubset) }},
	{openAPI, "anyOf is the only field where it is", "https://github.com/anomalyco/opencode/issues/14700",
		func(e exported) string {
			return every(e.schema, func(s map[string]any) string {
				if s["anyOf"] != nil && len(s) > 1 {
					return fmt.Sprintf("anyOf beside %v", slices.Sorted(maps.Keys(s)))
				}
				return ""
			})
		}},
	{rooted, "the schema is one of an object, with a type",
		"https://modelcontextprotocol.io/specification/2025-11-25/server/tools",
		func(e exported) string {
			if e.schema["type"] != "object" {
				return fmt.Sprintf("type %v", e.schema["type"])
			}
			return ""
		}},
	{rooted[:6], "$schema, and what older drafts wrote otherwise, is not there",
		"https://json-schema.org/draft/2020-12/schema",
		func(e exported) string { return every(e.schema, brokenDraft) }},
	{[]modelapi.Format{modelapi.FormatMCP}, "a tool has these members",
		"https://modelcontextprotocol.io/specification/2025-11-25/schema#tool",
		func(e exported) string {
			return keys(e.tool, "name", "title?", "description", "inputSchema", "outputSchema?", "annotations?")
		}},
}

// keys checks that an object has these members; those with a ? may be missing.
func keys(o map[string]any, want ...string) string {
	for _, w := range want {
		if plain, optional := strings.CutSuffix(w, "?"); !optional && o[plain] == nil {
			return "lacks " + w
		}
	}
	for key := range o {
		if !slices.Contains(want, key) && !slices.Contains(want, key+"?") {
			return "has " + key
		}
	}
	return ""
}

func name(e exported, pattern string) string {
	if n, _ := e.inner["name"].(string); !regexp.MustCompile(pattern).MatchString(n) {
		return fmt.Sprintf("name %q", n)
	}
	return ""
}

func without(s map[string]any, names ...string) string {
	for _, n := range names {
		if _, ok := s[n]; ok {
			return "has " + n
		}
	}
	return ""
}

func with(s map[string]any, name string) string {
	if _, ok := s[name].(map[string]any); !ok {
		return fmt.Sprintf("%s is %v", name, s[name])
	}
	return ""
}

func propertyNames(s map[string]any, pattern string) string {
	properties, _ := s["properties"].(map[string]any)
	for n := range properties {
		if !regexp.MustCompile(pattern).MatchString(n) {
			return fmt.Sprintf("property %q", n)
		}
	}
	return ""
}

func typesIn(s map[string]any) (out []string) {
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []any:
		for _, one := range t {
			out = append(out, fmt.Sprint(one))
		}
	}
	return out
}

// every returns the first error in a schema or one inside it.
func every(s map[string]any, broken func(map[string]any) string) string {
	if s == nil {
		return ""
	}
	if why := broken(s); why != "" {
		return why
	}
	for key, value := range s {
		for _, sub := range inside(key, value) {
			if why := every(sub, broken); why != "" {
				return key + ": " + why
			}
		}
	}
	return ""
}

// inside are the schemas that a keyword holds.
func inside(key string, value any) (out []map[string]any) {
	var candidates []any
	switch key {
	case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
		if m, ok := value.(map[string]any); ok {
			candidates = slices.Collect(maps.Values(m))
		}
	case "items", "additionalProperties", "not", "if", "then", "else", "anyOf", "oneOf", "allOf", "prefixItems":
		candidates = append(candidates, value)
		if list, ok := value.([]any); ok {
			candidates = list
		}
	}
	for _, c := range candidates {
		if m, ok := c.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func brokenDraft(s map[string]any) string {
	if _, tuple := s["items"].([]any); tuple {
		return "items is a list"
	}
	if _, old := s["exclusiveMinimum"].(bool); old {
		return "exclusiveMinimum is a boolean"
	}
	return without(s, "$schema", "additionalItems")
}

func brokenSubset(s map[string]any) string {
	allowed := []string{"type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems",
		"properties", "required",
		"minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern", "anyOf",
		"propertyOrdering"}
	for key := range s {
		if !slices.Contains(allowed, key) {
			return "has " + key
		}
	}
	kind := s["type"]
	values, _ := s["enum"].([]any)
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	switch {
	case s["anyOf"] == nil && !slices.Contains([]any{"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"}, kind):
		return fmt.Sprintf("type %v", kind)
	case slices.ContainsFunc(values, func(v any) bool { text, _ := v.(string); return text == "" || kind != "STRING" }):
		return fmt.Sprintf("enum %v of a %v", values, kind)
	case kind == "ARRAY" && s["items"] == nil:
		return "an array without items"
	case kind == "OBJECT" && len(properties) == 0:
		return "an object without properties"
	case slices.ContainsFunc(required, func(v any) bool { return properties[v.(string)] == nil }):
		return fmt.Sprintf("required %v", required)
	}
	return ""
}

// brokenStrict checks, where strict is true, what the guide requires of each schema.
func brokenStrict(e exported) string {
	strict, ok := e.inner["strict"].(bool)
	if !ok || !strict {
		return map[bool]string{true: "", false: "no strict"}[ok]
	}
	supported := strings.Fields("type title description properties required additionalProperties items enum const anyOf " +
		"$ref $defs definitions " +
		"pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems")
	return every(e.schema, func(s map[string]any) string {
		for key := range s {
			if !slices.Contains(supported, key) {
				return "has " + key
			}
		}
		if !slices.Contains(typesIn(s), "object") {
			return ""
		}
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		if s["additionalProperties"] != false || len(required) != len(properties) {
			return "an object is open or has optional properties"
		}
		return ""
	})
}
