package host

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/sdk"
)

// parse checks that the arguments are one JSON object that every reader understands the same way. It removes JSON
// strings and a code fence around the object; otherwise the bytes do not change.
func (h *Host) parse(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if c.StopReason != "" { // incomplete arguments can look complete: vendors send what they have, or {} instead
			return nil, advise(fail(sdk.CodeInvalidArgs, "TruncatedCall",
				"the call of %.100q is not complete: the answer was cut off (%.50s); nothing was run", c.Tool, c.StopReason),
				"Make the call again, in smaller parts if it was long.")
		}
		if err := c.Definition.schemas().err; err != nil { // a listing that was remembered missed it
			return nil, fail(sdk.CodePluginUnavailable, "Schema", "%s cannot be called: %v; nothing was run", c.Tool, err)
		}
		object, e := arguments.Read(c.Arguments, c.Definition.arguments())
		if e != nil {
			usage := c.Definition.arguments().Usage(c.Tool, c.Definition.InputSchema)
			e.Suggestion = strings.TrimSpace(e.Suggestion + " " + usage)
			return nil, h.refuse(c, e)
		}
		c.Arguments = object
		if c.TextArguments {
			c.Arguments = c.Definition.arguments().Typed(object,
				func(text json.RawMessage) bool { return c.Definition.schemas().input.Validate(text) == nil })
			c.TextArguments = false // they are converted now
		}
		return next(ctx, c)
	}
}

// validate checks the arguments against the tool's input schema. Arguments that do not fit never reach the plugin. A
// null that keeps them from fitting is left out.
func (h *Host) validate(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		input := c.Definition.schemas().input
		invalid := input.Validate(c.Arguments)
		if invalid != nil {
			if set := c.Definition.arguments().WithoutNulls(c.Arguments); set != nil && input.Validate(set) == nil {
				c.Arguments, invalid = set, nil
			}
		}
		if invalid != nil {
			e := advise(fail(sdk.CodeInvalidArgs, "InvalidArguments", "the arguments of %s do not fit: %s; nothing was run",
				c.Tool, invalid), c.Definition.arguments().Usage(c.Tool, c.Definition.InputSchema))
			e.Details = sdk.Details(map[string]any{"problems": invalid.Problems, "more": invalid.More})
			return nil, h.refuse(c, e)
		}
		if e := c.Definition.arguments().Misspelled(c.Arguments); e != nil {
			e.Name, e.Suggestion = "InvalidArguments", c.Definition.arguments().Usage(c.Tool, c.Definition.InputSchema)
			return nil, h.refuse(c, e)
		}
		h.misses.reset(c)
		return next(ctx, c)
	}
}

// missWarning is how many calls of one tool in a row may have unusable arguments before the error says so.
const missWarning = 3

// refuse completes the error of a call with unusable arguments: it adds the schema and, from the third such call in a
// row, their count and an example.
func (h *Host) refuse(c *Call, e *sdk.Error) *sdk.Error {
	input := json.RawMessage("{}")
	if json.Valid(c.Definition.InputSchema) {
		input = c.Definition.InputSchema
	}
	details := map[string]json.RawMessage{}
	_ = json.Unmarshal(e.Details, &details) // invalid details add nothing
	details["schema"] = input
	if n := h.misses.add(c); n >= missWarning {
		sample := c.Definition.arguments().Example()
		details["in_a_row"], details["example"] = sdk.Encode(n), sample
		e.Message = fmt.Sprintf("this is the %s call of %s in a row whose arguments cannot be used, so stop and think: %s",
			ordinal(n), c.Tool, e.Message)
		if len(sample) <= arguments.MaxUsage {
			e.Suggestion = strings.TrimSpace(fmt.Sprintf("Send one JSON object such as %s, with your own values. %s", sample,
				strings.TrimSpace(strings.TrimPrefix(e.Suggestion, arguments.OneObject))))
		}
	}
	e.Details = sdk.Details(details)
	return e
}

func ordinal(n int) string {
	suffix, ok := map[int]string{1: "st", 2: "nd", 3: "rd"}[n%10]
	if !ok || n%100/10 == 1 {
		suffix = "th"
	}
	return fmt.Sprint(n, suffix)
}

// maxMissCounts bounds what a missCounter remembers; a count that it drops restarts at one.
const maxMissCounts = 1024

// A missCounter counts, per tool and session, the consecutive calls whose arguments could not be used.
type missCounter struct {
	mu     sync.Mutex
	counts map[uint64]int // by a hash of session and tool, so that long names take no more memory
	oldest []uint64       // a ring, in the order in which the counts began
	next   int
}

var missSeed = maphash.MakeSeed()

func missKey(c *Call) uint64 {
	key := [3]string{c.SessionID, c.Definition.Name}
	if c.nested != nil { // a plugin's mistakes are not the model's
		key[2] = c.nested.via.Plugin
	}
	return maphash.Comparable(missSeed, key)
}

// add returns the number of such calls in a row, this one included.
func (m *missCounter) add(c *Call) int {
	key := missKey(c)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts, m.oldest = map[uint64]int{}, make([]uint64, maxMissCounts)
	}
	if m.counts[key] == 0 {
		delete(m.counts, m.oldest[m.next])
		m.oldest[m.next] = key
		m.next = (m.next + 1) % maxMissCounts
	}
	m.counts[key]++
	return m.counts[key]
}

// reset is called after a call with usable arguments.
func (m *missCounter) reset(c *Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.counts) > 0 {
		delete(m.counts, missKey(c))
	}
}
