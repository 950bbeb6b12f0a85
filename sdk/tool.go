package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/wire"
)

// A Handler runs one tool. The arguments in r fit the tool's input schema when the caller is a toolhost.
//
// Handlers run in parallel, also with themselves. When ctx ends (the caller gave up, the deadline passed, the host is
// closing) a handler has about a second to clean up. A failure is best returned as an *Error; other errors are shown to
// the model by their text. A panic fails the call, not the process, unless it is in a goroutine that the handler started.
type Handler func(ctx context.Context, r *Request) (*Result, error)

// A Tool is the definition of a tool: what a model reads before it calls, and what the host needs to know.
type Tool struct {
	// Name is the tool's own name, ^[A-Za-z0-9][A-Za-z0-9_-]*$ without "__". The host puts "PLUGIN__" before it; both
	// together have at most 64 characters. No two tools of a plugin may have names that differ only by letter case.
	Name string `json:"name"`
	// Title is a short name for people, of at most 256 bytes.
	Title string `json:"title,omitempty"`
	// Description tells the model what the tool does and when to use it. Required; at most 8 KiB.
	Description string `json:"description"`
	// InputSchema is the JSON Schema of the arguments, an object. AddTool infers it from a Go struct.
	InputSchema json.RawMessage `json:"input_schema"`
	// OutputSchema is the JSON Schema of Result.Structured, or nil.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// Hints say how the tool behaves. They are the plugin's word, which a host need not trust.
	Hints Hints `json:"hints,omitzero"`
	// Category is a free word to group tools by, of at most 64 bytes.
	Category string `json:"category,omitempty"`
	// CostTier says what a call costs: Free, Cheap, Expensive, or "" for not told.
	CostTier CostTier `json:"cost_tier,omitempty"`
	// Timeout is how long a call may take; zero leaves it to the host.
	Timeout time.Duration `json:"-"`
	// MaxResultBytes is how much of a result the model should see; zero leaves it to the host.
	MaxResultBytes int64 `json:"max_result_bytes,omitempty"`
	// OriginalName is the name where the tool comes from, when it had to be changed to fit.
	OriginalName string `json:"original_name,omitempty"`
	// Previews is true when the plugin can tell what a call would do; set by AddPreview.
	Previews bool `json:"previews,omitempty"`
	// Stateful is true for a tool that works with what other calls left in the plugin's process, such as jobs or a history.
	// A host that makes one call and ends does not offer it.
	Stateful bool `json:"stateful,omitempty"`
	// ForeignSchema is true when the input schema was written for clients of another kind, as those of discovered tools are.
	// A host checks the formats that it names, and offers the tool also where it cannot use a part of the schema, such as a
	// pattern with a lookahead, which is then not checked.
	ForeignSchema bool `json:"foreign_schema,omitempty"`
	// PathAware says that the tool takes files and folders as path or paths, the work folder where it is given none, that it
	// leaves out what Request.LeaveOut names, and reads in Request.Roots. Where a rule denies a part of a folder, the host
	// refuses the folder to other tools.
	PathAware bool `json:"path_aware,omitempty"`
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

// Hints are the hints of MCP's tool annotations. Nil means not told: write Yes or No.
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

// Yes and No are the two values of a hint that is told.
var (
	Yes = new(true)
	No  = new(false)
)

// CostTier says what one call of a tool costs its user.
type CostTier string

// The cost tiers, in rising order.
const (
	Free      CostTier = "free"
	Cheap     CostTier = "cheap"
	Expensive CostTier = "expensive"
)

// A Description is what a plugin says of itself to its host. A Plugin makes it; tests read it.
type Description struct {
	Name, Version string
	// SDK is the kit that the plugin is written with, such as "go/0.1.0".
	SDK   string
	Tools []Tool
	// ConfigSchema is nil when the plugin takes no configuration.
	ConfigSchema json.RawMessage
	// Dynamic says that the tools depend on the configuration or change while running.
	Dynamic bool
	// Notices are for the operator: what SetTools was given.
	Notices []string
}

// Limits of names and descriptions.
const (
	// MaxDescription is the longest description, in bytes.
	MaxDescription = 8 << 10

	maxToolName = 61 // leaves room for the shortest "PLUGIN__"
	maxTitle    = 256
	maxCategory = 64
	maxOriginal = 1024
)

var toolName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// Check says what is wrong with a definition, all of it, or nil. Hosts call it on what plugins declare.
func (t *Tool) Check() error {
	return errors.Join(t.checkName(), t.checkText(), t.checkSchema("input", t.InputSchema), t.checkOutput())
}

func (t *Tool) checkName() error {
	switch {
	case len(t.Name) > maxToolName:
		return fmt.Errorf("tool name %.70q has %d characters; the limit is %d", t.Name, len(t.Name), maxToolName)
	case !toolName.MatchString(t.Name):
		return fmt.Errorf("tool name %q must match %s", t.Name, toolName)
	case strings.Contains(t.Name, "__"):
		return fmt.Errorf("tool name %q must not contain \"__\", which stands between plugin and tool", t.Name)
	}
	return nil
}

func (t *Tool) checkText() error {
	excess := wire.TooLong(wire.Bounded{What: "title", Text: t.Title, Most: maxTitle},
		wire.Bounded{What: "category", Text: t.Category, Most: maxCategory},
		wire.Bounded{What: "original name", Text: t.OriginalName, Most: maxOriginal})
	switch {
	case strings.TrimSpace(t.Description) == "":
		return fmt.Errorf("tool %q has no description; models need one to choose it", t.Name)
	case len(t.Description) > MaxDescription:
		return fmt.Errorf("tool %q: the description has %d bytes; the limit is %d", t.Name, len(t.Description), MaxDescription)
	case excess != "":
		return fmt.Errorf("tool %q: the %s", t.Name, excess)
	case !slices.Contains([]CostTier{"", Free, Cheap, Expensive}, t.CostTier):
		return fmt.Errorf("tool %q: cost tier %q is not one of free, cheap, expensive", t.Name, t.CostTier)
	case t.Timeout < 0 || t.MaxResultBytes < 0:
		return fmt.Errorf("tool %q: timeout and max_result_bytes must not be negative", t.Name)
	}
	return nil
}

func (t *Tool) checkOutput() error {
	if t.OutputSchema == nil {
		return nil
	}
	return t.checkSchema("output", t.OutputSchema)
}

// checkSchema looks at the outside only; a host compiles the schema and looks at the rest.
func (t *Tool) checkSchema(which string, schema json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(schema, &object); err != nil || object == nil {
		return fmt.Errorf("tool %q: the %s schema must be a JSON object such as {\"type\":\"object\"}", t.Name, which)
	}
	if kind, ok := object["type"]; which == "input" && ok && string(kind) != `"object"` {
		return fmt.Errorf("tool %q: the input schema must have \"type\":\"object\", not %.40s", t.Name, kind)
	}
	return nil
}
