package modelapi

import (
	"cmp"
	"encoding/base64"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
	"github.com/toolhost/toolhost/sdk"
)

// openAIResponses is OpenAI's responses API.
var openAIResponses = vendor{
	toolName: plainName,
	tool: func(t *host.Tool) (any, error) {
		parameters, strict, err := toolschema.OpenAI(t.InputSchema)
		return members("type", "function", "name", t.Name, "description", t.Description, "parameters", parameters,
			"strict", strict), badSchema(err)
	},
	calls:   responsesCalls,
	results: responsesResults,
	stream:  (*Assembler).addResponses,
}

// responsesEnds is the status of a complete item.
var responsesEnds = []string{"completed"}

// responsesCalls reads a response, its output, or items of that. An item without a status has that of the response.
func responsesCalls(v value) ([]host.Call, error) {
	if v.isArray() {
		return v.each(responsesCalls)
	}
	o, err := v.object()
	switch {
	case err != nil:
		return nil, err
	case o.has("error") && !o.has("type"):
		return nil, o.vendorError()
	case o.has("output") && !o.has("type") && !o.has("call_id"): // items of other types, and results, may have one
		calls, err := o.member("output").each(responsesCalls)
		items, _ := o.member("output").items()
		if n := len(items); n > 0 {
			if last, err := items[n-1].object(); err == nil && last.is("type", "function_call") && !last.has("status") {
				calls = truncateLast(calls, o.truncation("status", responsesEnds))
			}
		}
		return calls, err
	case o.is("type", "function_call"):
		calls, err := newCall(o.member("call_id", "id"), o.member("name"), o.member("arguments"))
		return truncateLast(calls, o.truncation("status", responsesEnds)), err
	}
	return nil, o.requireKind("output")
}

// responsesAccepts are the media types of https://platform.openai.com/docs/guides/images-vision, and PDF.
var responsesAccepts = []string{"image/png", "image/jpeg", "image/webp", "image/gif", pdf}

// responsesResults returns the outputs of calls, each a string, or an array if there is more than text.
func responsesResults(results []*host.Result) (any, error) {
	out := []any{}
	for _, r := range results {
		hasMedia := false
		parts := renderContent(visibleContent(r), responsesAccepts,
			func(text string) any { return members("type", "input_text", "text", text) },
			func(p sdk.Content) any {
				hasMedia = true
				dataURL := "data:" + p.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
				if p.MIMEType != pdf {
					return members("type", "input_image", "image_url", dataURL)
				}
				name := cmp.Or(p.Name, path.Base(p.URI))
				if !strings.HasSuffix(strings.ToLower(name), ".pdf") {
					name = "file.pdf" // the API requires a name
				}
				return members("type", "input_file", "filename", name, "file_data", dataURL)
			})
		var output any = parts
		if !hasMedia {
			output = resultText(r)
		}
		out = append(out, members("type", "function_call_output", "call_id", r.CallID, "output", output))
	}
	return out, requireIDs(results)
}

type responsesItem struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Status    string         `json:"status"`
	Arguments jsontext.Value `json:"arguments"`
}

// addResponses reads an event: items of type function_call, and the parts of their arguments. The whole arguments of a
// "done" event replace the parts. https://platform.openai.com/docs/api-reference/responses-streaming
func (a *Assembler) addResponses(chunk []byte) error {
	var e struct {
		Type        string         `json:"type"`
		OutputIndex *int64         `json:"output_index"`
		ItemID      string         `json:"item_id"`
		CallID      string         `json:"call_id"` // some servers send it instead of item_id
		Item        responsesItem  `json:"item"`
		Delta       jsontext.Value `json:"delta"`
		Arguments   jsontext.Value `json:"arguments"`
		Response    struct {
			Output []responsesItem `json:"output"`
			Error  *vendorError    `json:"error"`
		} `json:"response"`
		Message string `json:"message"` // of an error
	}
	if err := decode(chunk, &e); err != nil {
		return err
	}
	switch e.Type {
	case "response.output_item.added":
		a.addItem(e.OutputIndex, e.Item)
	case "response.function_call_arguments.delta":
		if c := a.responsesCall(e.OutputIndex, e.ItemID, e.CallID); c != nil {
			c.addRaw("", "", e.Delta)
		} else {
			a.failAmbiguous()
		}
	case "response.function_call_arguments.done":
		if c := a.responsesCall(e.OutputIndex, e.ItemID, e.CallID); c != nil {
			c.endItem(e.Arguments, "")
		}
	case "response.output_item.done":
		if c := a.addItem(e.OutputIndex, e.Item); c != nil {
			c.endItem(e.Item.Arguments, e.Item.Status)
		}
	case "response.completed":
		a.endOutput(e.Response.Output)
		a.finishOpen()
	case "response.incomplete":
		a.truncateOpen("the answer was cut off (incomplete)")
	case "response.failed":
		return a.failVendor(cmp.Or(e.Response.Error, &vendorError{}))
	case "error":
		return a.failVendor(&vendorError{e.Message})
	}
	return nil
}

// addItem returns the call of an item, and begins it if it is new; nil if the item is no call.
func (a *Assembler) addItem(index *int64, item responsesItem) *partialCall {
	if item.Type != "function_call" {
		return nil
	}
	c := a.itemCall(index, item)
	switch {
	case c == nil:
		c = a.begin()
		c.slot, c.item = index, item.ID
		c.addRaw(item.CallID, item.Name, item.Arguments)
	case c.name.joined == "":
		c.add(item.CallID, item.Name, "")
	default:
		c.add(item.CallID, "", "")
	}
	return c
}

// endOutput ends the calls of the whole output that are open; servers that stream nothing before send all calls here.
func (a *Assembler) endOutput(items []responsesItem) {
	isFirst := len(a.calls) == 0
	for i, item := range items {
		c := a.itemCall(nil, item)
		if c == nil && isFirst {
			c = a.addItem(new(int64(i)), item)
		}
		if c != nil {
			c.endItem(item.Arguments, item.Status)
		}
	}
}

// itemCall returns the call of an item, nil if it is new or no call. Some servers make up another item id for each
// event, so the index and the call's id identify it too.
func (a *Assembler) itemCall(index *int64, item responsesItem) *partialCall {
	if item.Type != "function_call" {
		return nil
	}
	return a.last(func(c *partialCall) bool {
		sameSlot := index != nil && c.hasSlot(index)
		switch {
		case item.ID != "" && c.item == item.ID:
			return true
		case item.CallID != "" && c.id != "":
			return item.CallID == c.id && (sameSlot || c.slot == nil || index == nil)
		}
		return sameSlot
	})
}

// responsesCall returns the call with the item's id, otherwise with its index, otherwise with the call's id,
// otherwise the only open one.
func (a *Assembler) responsesCall(index *int64, item, call string) *partialCall {
	return cmp.Or(
		a.last(func(c *partialCall) bool { return item != "" && c.item == item }),
		a.at(index),
		a.last(func(c *partialCall) bool { return call != "" && c.id == call }),
		a.only((*partialCall).isOpen),
	)
}

// endItem takes the whole arguments. The status is "" if only the arguments are known to have ended: if there are none,
// the item says later whether it was cut off before they came.
func (c *partialCall) endItem(whole jsontext.Value, status string) {
	text, err := argumentText(whole)
	if err != nil {
		c.failUnreadable(err)
		return
	}
	c.replace(text)
	switch {
	case status == "incomplete":
		c.truncate("the vendor calls it incomplete")
	case status != "" || c.text.pieces > 0:
		c.finish()
	}
}
