package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// maxAnswer is how much of a declared tool's answer is read. It is in the result twice, as text and as JSON.
const maxAnswer = 1 << 20

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
	reply, hops, err := d.client.send(ctx, order{method: http.MethodPost, url: d.url, header: d.header, body: body})
	if err != nil {
		return nil, d.failed(err)
	}
	defer func() { _ = reply.Body.Close() }()
	a := newAnswer(reply, hops)
	if reply.StatusCode < 200 || reply.StatusCode > 299 { // before anything is parsed: an error page need not be JSON
		return nil, d.refusal(ctx, a, reply)
	}
	if err := a.read(ctx, reply.Body, maxAnswer); err != nil {
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

// refusal is for a status that is no success.
func (d *declared) refusal(ctx context.Context, a *answer, r *http.Response) error {
	e := &sdk.Error{Name: "HTTPStatus", Message: fmt.Sprintf("Failed to call tool at %s: it answered %s", d.where(), a.statusLine()),
		Suggestion: "Change the arguments if they are the cause; otherwise the operator must look at the tool's server."}
	if a.read(ctx, r.Body, maxRefused) == nil && a.settle(told(a.mediaType)) == textKind {
		if text, _ := a.decode(); strings.TrimSpace(text) != "" {
			e.Message += ": " + clip(strings.Join(strings.Fields(text), " "), inMessage)
		}
	}
	a.retry(e, map[string]any{"status": a.status, "url": d.where()})
	return e
}

func (d *declared) result(a *answer) (*sdk.Result, error) {
	switch a.settle(told(a.mediaType)) {
	case binaryKind:
		return nil, d.failed(a.binary())
	case imageKind:
		if a.cut {
			return nil, d.failed(a.binary())
		}
		return new(sdk.Result).Add(sdk.ImageContent(a.body, a.mediaType)), nil
	}
	text, _ := a.decode()
	if a.cut {
		r := sdk.Text(text).Add(sdk.TextContent(fmt.Sprintf("[only the first %d bytes of the answer were read; ask the tool for less]", maxAnswer)))
		r.Truncated = true
		return r, nil
	}
	return answered(text), nil
}

// answered makes a result of an answer: of its output, if it has one, else of all of it as text.
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

// An item is one piece of a tool's output, in the form of Continue's context items. Their other members are for its editor.
type item struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Content     *string `json:"content"`
}

// output gives the items of an answer that has them, each with content at least.
func output(raw json.RawMessage) ([]item, bool) {
	var answer struct {
		Output *[]item `json:"output"`
	}
	if raw == nil || json.Unmarshal(raw, &answer) != nil || answer.Output == nil {
		return nil, false
	}
	for _, i := range *answer.Output {
		if i.Content == nil {
			return nil, false
		}
	}
	return *answer.Output, true
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
