package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/wire"
)

// A Handler runs one tool. A toolhost has checked the arguments in r against the tool's input schema.
// Handlers run concurrently, also with themselves. When ctx ends (the call was canceled, the deadline passed, the
// host is closing) a handler has about a second to clean up and return. It should fail with an *Error; of other
// errors the model reads the text. A panic fails the call, not the process, unless it is in a goroutine that the
// handler started.
type Handler func(ctx context.Context, r *Request) (*Result, error)

// A Tool is the definition of a tool: what a model reads before it calls, and what the host needs to know.
type Tool struct {
	// Name is the tool's own name, ^[A-Za-z0-9][A-Za-z0-9_-]*$ without "__". Models see "PLUGIN__NAME", of at most 64
	// characters. Names of two tools of a plugin must differ by more than letter case.
	Name string `json:"name"`
	// Title is a short name for people, of at most 256 bytes.
	Title string `json:"title,omitempty"`
	// Description says what the tool does and when to use it, for the model. Required; at most 8 KiB.
	Description string `json:"description"`
	// InputSchema is the JSON Schema of the arguments, an object. AddTool infers it from a Go struct.
	InputSchema json.RawMessage `json:"input_schema"`
	// OutputSchema is the JSON Schema of Result.Structured, or nil.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// TextIsJSON is true when the text of each result is the JSON of its Structured, as JSON makes it, and says no more.
	// AddTool sets it for result types without content of their own. MCP clients get OutputSchema for such tools alone:
	// some give a model the structured data of a result and not its text.
	TextIsJSON bool `json:"text_is_json,omitempty"`
	// Hints say how the tool behaves. A host need not trust them.
	Hints Hints `json:"hints,omitzero"`
	// Category is any word to group tools by, of at most 64 bytes.
	Category string `json:"category,omitempty"`
	// CostTier is the cost of a call: Free, Cheap, Expensive, or "" when not known.
	CostTier CostTier `json:"cost_tier,omitempty"`
	// Timeout is how long a call may usually take; zero leaves it to the host (2 minutes), whose configuration overrides
	// it. A host ends calls after an hour, also where this is longer.
	Timeout time.Duration `json:"-"`
	// MaxResultBytes is how many bytes of a result the model should see; zero leaves it to the host.
	MaxResultBytes int64 `json:"max_result_bytes,omitempty"`
	// OriginalName is the name of the tool at its source, when Name had to differ; at most 1024 bytes.
	OriginalName string `json:"original_name,omitempty"`
	// Previews is true when the tool has a preview; AddPreview sets it.
	Previews bool `json:"previews,omitempty"`
	// Stateful is true for a tool that uses state that other calls left in the plugin's process, such as jobs or a
	// history. A host that makes one call and ends does not offer it.
	Stateful bool `json:"stateful,omitempty"`
	// ForeignSchema is true when the schemas were written for other clients, as those of discovered tools are. A host
	// checks the formats in the input schema, and does not check a part that it does not support, such as a pattern with a
	// back reference, instead of refusing the tool.
	ForeignSchema bool `json:"foreign_schema,omitempty"`
	// PathAware is true for a tool that takes files and folders as the arguments path or paths, the work folder by
	// default, that leaves out what Request.LeaveOut names, that follows no links in a folder, and that reads in
	// Request.Roots. Where a rule denies a part of a folder, the host refuses calls of other tools for that folder.
	PathAware bool `json:"path_aware,omitempty"`
	// Extra is a JSON object of those members of the source's definition that no other field has, such as icons and
	// _meta of an MCP server; at most 64 KiB.
	Extra json.RawMessage `json:"extra,omitempty"`
	// ForeignHints is true when the hints are a third party's and the plugin does not vouch for them. A host trusts
	// them only if its operator says so.
	ForeignHints bool `json:"foreign_hints,omitempty"`
}

// MarshalJSON writes the timeout the way configuration does, as "1m30s".
func (t Tool) MarshalJSON() ([]byte, error) {
	type plain Tool
	out := struct {
		plain
		Timeout string `json:"timeout,omitempty"`
	}{plain: plain(t)}
	if t.Timeout > 0 {
		out.Timeout = t.Timeout.String()
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Tool) UnmarshalJSON(data []byte) error {
	type plain Tool
	in := struct {
		*plain
		Timeout string `json:"timeout"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(data, &in); err != nil || in.Timeout == "" {
		return err
	}
	var err error
	t.Timeout, err = time.ParseDuration(in.Timeout)
	return err
}

// Hints are those of MCP's tool annotations. Nil means not known; set a hint to Yes or No.
type Hints struct {
	// ReadOnly: a call changes nothing.
	ReadOnly *bool `json:"read_only,omitempty"`
	// Destructive: a call may delete or overwrite.
	Destructive *bool `json:"destructive,omitempty"`
	// Idempotent: a second equal call changes nothing more.
	Idempotent *bool `json:"idempotent,omitempty"`
	// OpenWorld: a call reaches things outside, such as the network.
	OpenWorld *bool `json:"open_world,omitempty"`
}

// Yes and No are the values of a hint in Hints.
var (
	Yes = new(true)
	No  = new(false)
)

// CostTier is the cost of one call of a tool to its user.
type CostTier string

// The cost tiers, in rising order.
const (
	Free      CostTier = "free"
	Cheap     CostTier = "cheap"
	Expensive CostTier = "expensive"
)

// A Description is a plugin's description of itself for its host. A Plugin makes it; tests read it.
type Description struct {
	Name, Version string
	// SDK is the kit that the plugin is written with, such as "go/0.1.0".
	SDK   string
	Tools []Tool
	// ConfigSchema is nil when the plugin takes no configuration.
	ConfigSchema json.RawMessage
	// Dynamic says that the tools depend on the configuration or change while running.
	Dynamic bool
	// Cacheable says that a host may list the tools of an earlier start with the same configuration.
	Cacheable bool
	// Notices are for the operator, from SetTools.
	Notices []Notice
	// Missing says why tools are missing, "" when none are; Pending that they are expected soon. See Plugin.MissingTools.
	Missing string
	Pending bool
	// Memory is a note of the plugin to itself; see Plugin.Remember.
	Memory string
}

// A Notice is a message about a plugin's tools for the operator.
type Notice struct {
	Kind NoticeKind `json:"kind"`
	Text string     `json:"text"`
}

// NoticeKind says whether the list of tools is as it should be. Hosts take an unknown kind for a Remark.
type NoticeKind string

// The kinds of notices.
const (
	// Remark is a notice about a list that is as it should be, such as about a tool that was left out.
	Remark NoticeKind = "remark"
	// Problem is a notice about tools that are missing or old, such as those of a server that does not answer. toolhost
	// discover then ends with exit code 4.
	Problem NoticeKind = "problem"
)

// Remarks returns a Remark for each text.
func Remarks(texts ...string) []Notice {
	out := make([]Notice, len(texts))
	for i, text := range texts {
		out[i] = Notice{Remark, text}
	}
	return out
}

// Limits of a definition.
const (
	// MaxDescription is the longest description, in bytes: 8 KiB.
	MaxDescription = 8 << 10

	maxToolName = 61 // leaves room for the shortest "PLUGIN__"
	maxTitle    = 256
	maxCategory = 64
	maxOriginal = 1024
	maxExtra    = 64 << 10
	maxMemory   = 4 << 10
)

// Check returns all that is wrong with a definition, or nil. Hosts check the definitions of plugins with it.
func (t *Tool) Check() error {
	err := errors.Join(t.checkName(), t.checkText(), t.checkSchema("input", t.InputSchema))
	if t.OutputSchema != nil {
		err = errors.Join(err, t.checkSchema("output", t.OutputSchema))
	}
	return errors.Join(err, t.checkExtra())
}

func (t *Tool) checkName() error {
	switch {
	case len(t.Name) > maxToolName:
		return fmt.Errorf("tool name %.70q has %d characters; the limit is %d", t.Name, len(t.Name), maxToolName)
	case !isToolName(t.Name):
		return fmt.Errorf("tool name %q must match %s: letters, digits, _ and -%s", t.Name, toolNameRule, suchAs(t.Name))
	case strings.Contains(t.Name, "__"):
		return fmt.Errorf("tool name %q must not contain \"__\", which stands between plugin and tool%s", t.Name,
			suchAs(t.Name))
	}
	return nil
}

// suchAs suggests a name like the one given, if there is one.
func suchAs(name string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool {
		return r != '-' && !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
	})
	if near := strings.TrimLeft(strings.Join(parts, "_"), "-"); near != "" && len(near) <= maxToolName {
		return fmt.Sprintf(", such as %q", near)
	}
	return ""
}

func (t *Tool) checkText() error {
	excess := wire.TooLong(wire.Bounded{What: "title", Text: t.Title, Most: maxTitle},
		wire.Bounded{What: "category", Text: t.Category, Most: maxCategory},
		wire.Bounded{What: "original name", Text: t.OriginalName, Most: maxOriginal})
	switch {
	case strings.TrimSpace(t.Description) == "":
		return fmt.Errorf("tool %q has no description; models need one to choose it. Say what it does and when to use it",
			t.Name)
	case len(t.Description) > MaxDescription:
		return fmt.Errorf("tool %q: the description has %d bytes; the limit is %d. Say only what a model needs to choose "+
			"the tool", t.Name, len(t.Description), MaxDescription)
	case excess != "":
		return fmt.Errorf("tool %q: the %s", t.Name, excess)
	case !slices.Contains([]CostTier{"", Free, Cheap, Expensive}, t.CostTier):
		return fmt.Errorf("tool %q: cost tier %q is not one of free, cheap, expensive", t.Name, t.CostTier)
	case t.Timeout < 0 || t.MaxResultBytes < 0:
		return fmt.Errorf("tool %q: timeout and max_result_bytes must not be negative", t.Name)
	}
	return nil
}

func (t *Tool) checkExtra() error {
	var object map[string]json.RawMessage
	switch {
	case t.Extra == nil:
		return nil
	case len(t.Extra) > maxExtra:
		return fmt.Errorf("tool %q: extra has %d bytes; the limit is %d", t.Name, len(t.Extra), maxExtra)
	case json.Unmarshal(t.Extra, &object) != nil || object == nil:
		return fmt.Errorf("tool %q: extra must be a JSON object", t.Name)
	}
	return nil
}

// checkSchema checks only the type of a schema; a host compiles it.
func (t *Tool) checkSchema(which string, schema json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(schema, &object); err != nil || object == nil {
		return fmt.Errorf("tool %q: the %s schema must be a JSON object such as {\"type\":\"object\"}", t.Name, which)
	}
	if kind, ok := object["type"]; which == "input" && ok && string(kind) != `"object"` && !t.mayBeObject(kind) {
		return fmt.Errorf("tool %q: the input schema must have \"type\":\"object\", not %.40s; make that a property of an "+
			"object", t.Name, kind)
	}
	return nil
}

// mayBeObject reports whether a foreign schema lists several types, and object is one of them.
func (t *Tool) mayBeObject(types json.RawMessage) bool {
	var names []string
	return t.ForeignSchema && json.Unmarshal(types, &names) == nil && slices.Contains(names, "object")
}

// What names of tools are made of, as errors show it. Each start of a plugin checks names, and would spend more time on
// compiling expressions than on all of the checks.
const toolNameRule = `^[A-Za-z0-9][A-Za-z0-9_-]*$`

func isToolName(name string) bool {
	alphanumeric := func(c byte) bool { return isLower(c) || isDigit(c) || 'A' <= c && c <= 'Z' }
	return madeOf(name, alphanumeric, func(c byte) bool { return alphanumeric(c) || c == '_' || c == '-' })
}

func isFormatName(name string) bool {
	return madeOf(name, isLower, func(c byte) bool { return isLower(c) || isDigit(c) || c == '-' })
}

// madeOf reports whether the first byte and all others are of a kind; there must be one.
func madeOf(name string, first, others func(c byte) bool) bool {
	for i := range len(name) {
		if i == 0 && !first(name[i]) || i > 0 && !others(name[i]) {
			return false
		}
	}
	return name != ""
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
