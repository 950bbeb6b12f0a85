package modelapi

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"
)

// A responsesEvent is an event of OpenAI's responses, as far as it tells of calls:
// https://platform.openai.com/docs/api-reference/responses-streaming
type responsesEvent struct {
	Type        string         `json:"type"`
	OutputIndex *int64         `json:"output_index"`
	ItemID      string         `json:"item_id"`
	CallID      string         `json:"call_id"` // of some servers, in the place of item_id
	Item        streamedItem   `json:"item"`
	Delta       jsontext.Value `json:"delta"`
	Arguments   jsontext.Value `json:"arguments"`
	Response    struct {
		Output []streamedItem `json:"output"`
		Error  *vendorError   `json:"error"`
	} `json:"response"`
	Message string `json:"message"` // of an error
}

type streamedItem struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Status    string         `json:"status"`
	Arguments jsontext.Value `json:"arguments"`
}

// responsesEnds are the statuses of an item that is not cut off.
var responsesEnds = []string{"completed"}

// readResponses takes the items of type function_call. What is done is told in whole, and that counts.
func (a *Assembler) readResponses(chunk []byte) error {
	var e responsesEvent
	if err := decode(chunk, &e); err != nil {
		return err
	}
	switch e.Type {
	case "response.output_item.added":
		a.streamedItem(e.OutputIndex, e.Item)
	case "response.function_call_arguments.delta":
		if d := a.responsesOwner(e.OutputIndex, e.ItemID, e.CallID); d != nil {
			d.addRaw("", "", e.Delta)
		} else {
			a.failOpen("StreamAmbiguous", "may lack a part: the stream does not say which call a part belongs to")
		}
	case "response.function_call_arguments.done":
		if d := a.responsesOwner(e.OutputIndex, e.ItemID, e.CallID); d != nil {
			a.responsesDone(d, e.Arguments, "")
		}
	case "response.output_item.done":
		if d := a.streamedItem(e.OutputIndex, e.Item); d != nil {
			a.responsesDone(d, e.Item.Arguments, e.Item.Status)
		}
	default:
		a.responsesEnd(e)
	}
	return nil
}

// responsesEnd is for the events that tell of the whole answer.
func (a *Assembler) responsesEnd(e responsesEvent) {
	switch e.Type {
	case "response.completed":
		a.responsesOutput(e.Response.Output)
		a.finishOpen()
	case "response.incomplete":
		a.cutOpen("the answer was cut off (incomplete)")
	case "response.failed":
		a.vendorFailed(cmp.Or(e.Response.Error, &vendorError{}))
	case "error":
		a.vendorFailed(&vendorError{Message: e.Message})
	}
}

// responsesOutput takes what the whole answer tells of calls that are not done, and all of it from servers that send
// nothing before.
func (a *Assembler) responsesOutput(items []streamedItem) {
	nothing := len(a.drafts) == 0
	for i, item := range items {
		d := a.responsesKnown(nil, item)
		if d == nil && nothing {
			d = a.streamedItem(new(int64(i)), item)
		}
		if d != nil {
			a.responsesDone(d, item.Arguments, item.Status)
		}
	}
}

// streamedItem gives the call of an item, and begins it if it is new; nil if the item is no call.
func (a *Assembler) streamedItem(output *int64, item streamedItem) *draft {
	if item.Type != "function_call" {
		return nil
	}
	d := a.responsesKnown(output, item)
	switch {
	case d == nil:
		d = a.begin()
		d.slot, d.item = output, item.ID
		d.addRaw(item.CallID, item.Name, item.Arguments)
	case d.name.sum == "":
		d.add(item.CallID, item.Name, "")
	default:
		d.add(item.CallID, "", "")
	}
	return d
}

// responsesKnown finds the call of an item. Some servers make up another id of the item for each event, so the place and
// the call's id find it too.
func (a *Assembler) responsesKnown(output *int64, item streamedItem) *draft {
	if item.Type != "function_call" {
		return nil
	}
	return a.last(func(d *draft) bool {
		placed, unplaced := d.slot != nil && output != nil && *d.slot == *output, d.slot == nil || output == nil
		switch {
		case item.ID != "" && d.item == item.ID:
			return true
		case item.CallID != "" && d.id != "":
			return item.CallID == d.id && (placed || unplaced)
		}
		return placed
	})
}

// responsesOwner is the call of an item's id, else of its place, else of its call's id, else the only open one.
func (a *Assembler) responsesOwner(output *int64, item, call string) *draft {
	d := a.last(func(d *draft) bool { return item != "" && d.item == item })
	if d == nil && output != nil {
		d = a.last(func(d *draft) bool { return d.slot != nil && *d.slot == *output })
	}
	if d == nil && call != "" {
		d = a.last(func(d *draft) bool { return d.id == call })
	}
	if d == nil {
		d = a.only((*draft).isOpen)
	}
	return d
}

// responsesDone takes the whole arguments. The status is "" while only the arguments are said to be done: if there are
// none, the item tells whether it was cut off before they came.
func (a *Assembler) responsesDone(d *draft, arguments jsontext.Value, status string) {
	text, err := argumentText(arguments)
	if err != nil {
		d.unreadable(err)
		return
	}
	d.replace(text)
	switch {
	case status == "incomplete":
		d.cut(a.known, "the vendor calls it incomplete")
	case status != "" || d.pieces.count > 0:
		d.finish(a.known)
	}
}
