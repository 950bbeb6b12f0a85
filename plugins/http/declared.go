package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

const maxDeclared = 200

// toolBlocks are the tool blocks of the configuration: one is an object, several are an array.
type toolBlocks []json.RawMessage

// UnmarshalJSON takes both forms. What is in the blocks is read by declare, which can name them in its errors.
func (b *toolBlocks) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '{' {
		*b = toolBlocks{bytes.Clone(data)}
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New("tool must be blocks, as in tool \"name\" { ... }")
	}
	*b = list
	return nil
}

// A toolBlock is a tool that the operator declares: a URL that arguments are posted to.
type toolBlock struct {
	Labels         []string          `json:"labels"`
	URL            string            `json:"url"`
	Title          string            `json:"title"`
	Description    string            `json:"description"`
	Schema         json.RawMessage   `json:"schema"`
	Headers        map[string]string `json:"headers"`
	TimeoutSeconds float64           `json:"timeout_seconds"`
	ReadOnly       *bool             `json:"read_only"`
}

// A declared is a checked toolBlock.
type declared struct {
	block   toolBlock
	url     *url.URL
	header  http.Header
	timeout time.Duration
	client  *client
	hidden  redactor
}

// declare makes the tools. Each has a client of its own, which may reach the host of the tool's URL wherever it is:
// that is the operator's word. It holds for no other host.
func (b toolBlocks) declare(s *settings, hooks testHooks) ([]*declared, error) {
	if len(b) > maxDeclared {
		return nil, invalidConfig("there are %d tool blocks, at most %d are allowed", len(b), maxDeclared)
	}
	var out []*declared
	taken := []string{"get", "post"}
	for i, raw := range b {
		place := "tool"
		if len(b) > 1 {
			place = fmt.Sprintf("tool[%d]", i)
		}
		d, err := declareOne(raw, s, hooks, taken)
		if err != nil {
			return nil, err.in(place)
		}
		out, taken = append(out, d), append(taken, d.block.Labels[0])
	}
	return out, nil
}

// A mistake is something wrong in a tool block.
type mistake struct {
	name  string // of the tool, if it has one
	field string // "" for the block as a whole
	why   string
}

// in returns the error of a mistake, which begins with its place in the configuration.
func (m *mistake) in(place string) error {
	if m.field != "" {
		place += "." + m.field
	}
	if m.name != "" {
		place += fmt.Sprintf(": tool %q", m.name)
	}
	return invalidConfig("%s: %s", place, m.why)
}

func wrong(field, format string, a ...any) *mistake {
	return &mistake{field: field, why: fmt.Sprintf(format, a...)}
}

func declareOne(raw json.RawMessage, s *settings, hooks testHooks, taken []string) (*declared, *mistake) {
	block, m := readBlock(raw)
	if m != nil {
		return nil, m
	}
	d, m := block.declare()
	name := block.Labels[0]
	switch {
	case m != nil:
	case slices.Contains(taken, name):
		m = wrong("", "there is a tool of that name already")
	default:
		m = d.connect(s, hooks)
	}
	if m != nil {
		m.name = name
	}
	return d, m
}

// connect gives the tool its client. A URL that could never be called is a mistake.
func (d *declared) connect(s *settings, hooks testHooks) *mistake {
	host, port := hostAndPort(d.url)
	own := allowance{hosts: pattern{host, port}, port: port}
	d.client = newClient(guard{allow: append(slices.Clip(s.allow), own), deny: s.deny}, hooks)
	if e := d.client.checkAllowed(d.url); e != nil {
		return wrong("url", "%s", strings.TrimSuffix(e.Message, "; nothing was sent there"))
	}
	return nil
}

func readBlock(raw json.RawMessage) (toolBlock, *mistake) {
	var b toolBlock
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(&b)
	if len(b.Labels) != 1 {
		return b, wrong("", "a tool block needs one name, as in tool \"name\" { ... }")
	}
	if err == nil {
		return b, nil
	}
	m := wrong("", "%v", err)
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		m = wrong(typed.Field, "it must not be of the type %s", typed.Value)
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		m = wrong(strings.Trim(field, `"`),
			"a tool block has no %s, only url, title, description, schema, headers, timeout_seconds and read_only", field)
	}
	m.name = b.Labels[0]
	return b, m
}

func (b toolBlock) declare() (*declared, *mistake) {
	u, e := parseURL(b.URL)
	if e != nil {
		return nil, wrong("url", "%s", e.Message)
	}
	header, err := plainHeaders(b.Headers)
	if err != nil {
		return nil, wrong("headers", "%v", err)
	}
	if b.TimeoutSeconds < 0 || b.TimeoutSeconds > maxSeconds {
		return nil, wrong("timeout_seconds", "%v must be more than 0 and at most %d", b.TimeoutSeconds, maxSeconds)
	}
	b.TimeoutSeconds = cmp.Or(b.TimeoutSeconds, defaultSeconds)
	if b.Schema == nil {
		b.Schema = json.RawMessage(`{"type":"object"}`)
	}
	d := &declared{block: b, url: u, header: header, timeout: time.Duration(b.TimeoutSeconds * float64(time.Second)),
		hidden: newRedactor(header, u)}
	setDefault(header, "Content-Type", "application/json")
	setDefault(header, "Accept", "application/json, */*;q=0.5")
	setDefault(header, "User-Agent", "toolhost-http/"+version)
	t := d.tool()
	if err := t.Check(); err != nil {
		return nil, wrong("", "%s", strings.TrimPrefix(err.Error(), fmt.Sprintf("tool %q: ", t.Name)))
	}
	return d, nil
}

func setDefault(h http.Header, name, value string) {
	if h[name] == nil {
		h.Set(name, value)
	}
}

func (d *declared) tool() sdk.Tool {
	return sdk.Tool{Name: d.block.Labels[0], Title: d.block.Title, Description: d.block.Description,
		InputSchema: d.block.Schema, Category: "web",
		Hints: sdk.Hints{ReadOnly: d.block.ReadOnly, OpenWorld: sdk.Yes}, Timeout: d.timeout + 10*time.Second}
}

// maxResponse is how much of a declared tool's answer is read. It is in the result twice, as text and as JSON.
const maxResponse = 1 << 20

// handle posts the arguments, byte for byte what was checked and approved.
func (d *declared) handle(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	result, err := d.call(ctx, r.Arguments)
	if d.block.ReadOnly == nil || !*d.block.ReadOnly {
		err = sent(err)
	}
	return d.hidden.result(result), d.hidden.error(err)
}

func (d *declared) call(ctx context.Context, arguments json.RawMessage) (*sdk.Result, error) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	ctx, cancel := limited(ctx, d.timeout)
	defer cancel()
	body := fmt.Appendf(nil, `{"arguments":%s}`, arguments)
	reply, hops, err := d.client.send(ctx, outgoing{method: http.MethodPost, url: d.url, header: d.header, body: body})
	if err != nil {
		return nil, d.failed(err)
	}
	defer func() { _ = reply.Body.Close() }()
	a := newResponse(reply, hops)
	if reply.StatusCode < 200 || reply.StatusCode > 299 { // before anything is parsed: an error page need not be JSON
		return nil, d.refusal(ctx, a, reply)
	}
	if err := a.read(ctx, reply.Body, maxResponse); err != nil {
		return nil, d.failed(err)
	}
	return d.result(a)
}

// where is the tool's URL without what it asks with, which may be secret.
func (d *declared) where() string {
	u := *d.url
	u.RawQuery, u.ForceQuery = "", false
	return shownURL(&u)
}

// failed says of any error which tool's server it is about.
func (d *declared) failed(err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return err
	}
	out := *e
	out.Message = fmt.Sprintf("Failed to call tool at %s: %s", d.where(), e.Message)
	if e.Code == sdk.CodeTimeout { // which the caller cannot lengthen
		out.Suggestion = "Ask for less. The operator can raise timeout_seconds in the tool's block of the plugin's config."
	}
	return &out
}

func (d *declared) refusal(ctx context.Context, a *response, r *http.Response) error {
	e := &sdk.Error{Name: "HTTPStatus",
		Message:    fmt.Sprintf("Failed to call tool at %s: it answered %s", d.where(), a.statusLine()),
		Suggestion: "Change the arguments if they are the cause; otherwise the operator must look at the tool's server."}
	if a.read(ctx, r.Body, maxRefused) == nil && a.settle(kindOfMediaType(a.mediaType)) == textKind {
		if text, _ := a.decode(); strings.TrimSpace(text) != "" {
			e.Message += ": " + clip(strings.Join(strings.Fields(text), " "), inMessage)
		}
	}
	a.retry(e, map[string]any{"status": a.status, "url": d.where()})
	return e
}

func (d *declared) result(a *response) (*sdk.Result, error) {
	switch a.settle(kindOfMediaType(a.mediaType)) {
	case binaryKind:
		return nil, d.failed(a.binary())
	case imageKind:
		if err := a.wholeImage(); err != nil {
			return nil, d.failed(err)
		}
		return new(sdk.Result).Add(sdk.ImageContent(a.body, a.mediaType)), nil
	}
	text, _ := a.decode()
	if a.cut {
		r := sdk.Text(text).Add(sdk.TextContent(fmt.Sprintf("[only the first %d bytes of the answer were read; ask the "+
			"tool for less]", maxResponse)))
		r.Truncated = true
		return r, nil
	}
	return answered(text), nil
}

// answered makes a result of an answer: of its output, if it has one, otherwise of all of it as text.
func answered(text string) *sdk.Result {
	r := &sdk.Result{}
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		r.Structured = json.RawMessage(trimmed)
	}
	items, ok := output(r.Structured)
	if !ok {
		return r.Add(sdk.TextContent(text))
	}
	for _, item := range items {
		r.Add(sdk.TextContent(item.text()))
	}
	if len(items) == 0 {
		r.Add(sdk.TextContent("[the tool gave no output]"))
	}
	return r
}

// An item is one piece of a tool's output, in the form of Continue's context items. Their other members are for its
// editor.
type item struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Content     *string `json:"content"`
}

// output returns the items of an answer that has them, each with content at least.
func output(raw json.RawMessage) ([]item, bool) {
	var response struct {
		Output *[]item `json:"output"`
	}
	if raw == nil || json.Unmarshal(raw, &response) != nil || response.Output == nil {
		return nil, false
	}
	for _, i := range *response.Output {
		if i.Content == nil {
			return nil, false
		}
	}
	return *response.Output, true
}

func (i item) text() string {
	var parts []string
	if i.Name != "" {
		parts = append(parts, "## "+i.Name)
	}
	if i.Description != "" {
		parts = append(parts, i.Description)
	}
	return strings.Join(append(parts, *i.Content), "\n\n")
}
