package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// The two words for how a call ended.
const (
	StatusOK    = "ok"
	StatusError = "error"
)

// A Result is the answer to a call.
type Result struct {
	CallID string
	Tool   string // as it was called
	Plugin string // "" when the tool was not found
	Status string // StatusOK or StatusError

	// Content is for the model; it may be there beside an Error.
	Content    []sdk.Content
	Structured json.RawMessage
	// Error is nil when Status is StatusOK.
	Error *sdk.Error
	// Truncated says that Content or Structured holds less than there was.
	Truncated bool

	Duration time.Duration
	// Attempts is how often the plugin was asked, Generation which of its starts was asked last; zero when the call did
	// not come so far.
	Attempts, Generation int
}

// MarshalJSON writes the result in the form that `toolhost call --format json` prints.
func (r Result) MarshalJSON() ([]byte, error) {
	content := r.Content
	if content == nil {
		content = []sdk.Content{}
	}
	return json.Marshal(struct {
		CallID     string          `json:"call_id"`
		Tool       string          `json:"tool"`
		Plugin     string          `json:"plugin"`
		Status     string          `json:"status"`
		Content    []sdk.Content   `json:"content"`
		Structured json.RawMessage `json:"structured,omitempty"`
		Error      *sdk.Error      `json:"error,omitempty"`
		Truncated  bool            `json:"truncated"`
		DurationMS float64         `json:"duration_ms"`
		Attempts   int             `json:"attempts"`
		Generation int             `json:"generation"`
	}{r.CallID, r.Tool, r.Plugin, r.Status, content, r.Structured, r.Error, r.Truncated,
		float64(r.Duration.Microseconds()) / 1000, r.Attempts, r.Generation})
}

// Readable is the content or, where a call that succeeded has none but empty text, the structured result as one text.
func (r *Result) Readable() []sdk.Content {
	isEmpty := func(c sdk.Content) bool { return c.Type == "text" && c.Text == "" }
	if r.Error == nil && len(r.Structured) > 0 && !slices.ContainsFunc(r.Content, func(c sdk.Content) bool { return !isEmpty(c) }) {
		return []sdk.Content{sdk.TextContent(string(r.Structured))}
	}
	return r.Content
}

// Text is what a model should read: the texts of the readable content, and for a failed call what went wrong and what to do.
func (r *Result) Text() string {
	lines := []string{allText(r.Readable())}
	if r.Error != nil {
		lines = append(lines, r.Error.Message, r.Error.Suggestion)
	}
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
}

// allText puts the texts one after the other.
func allText(parts []sdk.Content) string {
	var out strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			out.WriteString(p.Text)
		}
	}
	return out.String()
}

// checkOutput holds a structured result against the schema that its tool declares. The call has run, so the model still
// reads the content; programs get no JSON that is not what was promised. A failure, or a result without any, promises
// nothing.
func (c *Call) checkOutput(result *sdk.Result, err error) (*sdk.Result, error) {
	output := c.Definition.output
	if output == nil || result == nil || result.Error != nil || result.Structured == nil || err != nil {
		return result, err
	}
	invalid := output.Validate(result.Structured)
	if invalid == nil {
		return result, nil
	}
	out := *result
	out.Structured = nil
	e := fail(sdk.CodeProtocol, "InvalidOutput", "%s has run, but its structured result does not fit its output schema and is left out: %s", c.Tool, invalid)
	e.Suggestion = "Read the content instead. Find out what the call has done before you make it again."
	return &out, e
}

// checkResult leaves out what of a result cannot be read, and says so: an empty success would hide it. Of plugins behind the
// wire, that has been done.
func checkResult(result *sdk.Result, err error) (*sdk.Result, error) {
	if result == nil || err != nil {
		return result, err
	}
	broken := client.CheckResult(result)
	if broken == nil {
		return result, nil
	}
	out := *result
	if client.CheckResult(&sdk.Result{Structured: out.Structured}) != nil {
		out.Structured = nil
	}
	out.Content = nil
	for _, p := range result.Content {
		if client.CheckResult(&sdk.Result{Content: []sdk.Content{p}}) == nil {
			out.Content = append(out.Content, p)
		}
	}
	if result.Error != nil {
		out.Error = new(*result.Error)
		out.Error.Message += "; besides, the result is broken: " + broken.Error()
		return &out, nil //nolint:nilerr // the tool's own error says more, and says this too
	}
	e := fail(sdk.CodeProtocol, "BrokenResult", "the result is broken: %s; the tool has run, and what can be read of its result is kept", broken)
	e.Suggestion = "Find out what the call has done before you make it again."
	return &out, e
}

// shape cuts what comes back to what a model should see: error messages, and results, whose whole is kept in a file.
func (h *snapshot) shape(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		result, err := next(ctx, c)
		if result != nil {
			out := *result // the plugin may hold on to its own
			out.Error = h.shapeError(out.Error)
			h.cutterFor(c).result(&out)
			result = &out
		}
		if e := h.shapeError(asError(err)); e != nil {
			return result, e
		}
		return result, nil
	}
}

func (h *snapshot) shapeError(e *sdk.Error) *sdk.Error {
	if e == nil {
		return nil
	}
	out := *e
	out.Code = cmp.Or(out.Code, sdk.CodeTool)
	out.Name = cutText(out.Name, 100)
	out.Message = cutText(out.Message, h.options.ErrorMessageLimit)
	out.Suggestion = cutText(out.Suggestion, h.options.ErrorMessageLimit)
	out.HelpURL = helpURL(out.HelpURL)
	return &out
}

// maxURL is the longest link of an error, in bytes.
const maxURL = 2 << 10

// helpURL drops what is no link that a person could follow: it is a plugin's word, and shown beside ours.
func helpURL(link string) string {
	u, err := url.Parse(link)
	if err != nil || len(link) > maxURL || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsFunc(link, textutil.Invisible) {
		return ""
	}
	return link
}

// cutterFor has the limit that the user set, else the tool's own word, else the host's; in a batch the call's share, if
// that is less.
func (h *snapshot) cutterFor(c *Call) cutter {
	limit := h.options.MaxResultBytes
	if t := c.recorded().Definition; t != nil { // else a middleware has answered a call of no tool
		limit = firstPositive(h.options.Tools[t.Name].MaxResultBytes, t.MaxResultBytes, limit)
	}
	return cutter{limit: int(min(limit, c.share(), sdk.MaxResult)), id: c.ID, keeper: h.results}
}

// cutText keeps the first characters of s.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for i := range s {
		if limit == 0 {
			return s[:i] + "... (truncated)"
		}
		limit--
	}
	return s
}

// A cutter shortens the result of one call, and keeps the whole of what it cuts.
type cutter struct {
	limit  int // bytes
	id     string
	keeper *keeper
}

// result cuts the texts of r, all text parts together and that of each resource by itself. JSON cannot be cut: it is all
// or nothing.
func (x cutter) result(r *sdk.Result) {
	text := allText(r.Content)
	if len(text) > x.limit {
		r.Content, r.Truncated = withText(r.Content, x.text(text)), true
	}
	for i, p := range r.Content {
		if short, ok := x.part(p); ok {
			r.Content, r.Truncated = slices.Clone(r.Content), true
			r.Content[i] = short
		}
	}
	if len(r.Structured) > x.limit {
		if string(r.Structured) != text { // else it is in the same file
			r.Content = append(slices.Clip(r.Content), x.note("The structured result", r.Structured))
		}
		r.Structured, r.Truncated = nil, true
	}
}

// part cuts one part that is no text.
func (x cutter) part(p sdk.Content) (sdk.Content, bool) {
	switch {
	case p.Type == "text":
		return p, false
	case len(p.Raw) > x.limit:
		return x.note("A part of the result", p.Raw), true
	case len(p.Text) > x.limit:
		p.Text = x.text(p.Text)
		return p, true
	}
	return p, false
}

func (x cutter) text(s string) string {
	return middleCut(s, x.limit, x.keeper.keep(x.id, ".txt", []byte(s)))
}

// note is what a model sees in the place of JSON that is too large.
func (x cutter) note(what string, raw []byte) sdk.Content {
	return sdk.TextContent(fmt.Sprintf("[%s has %d bytes and is left out; %s]", what, len(raw), x.keeper.keep(x.id, ".json", raw)))
}

// withText puts one text in the place of all of them, where the first was.
func withText(parts []sdk.Content, text string) (out []sdk.Content) {
	there := false
	for _, p := range parts {
		switch {
		case p.Type != "text":
			out = append(out, p)
		case !there:
			out, there = append(out, sdk.TextContent(text)), true
		}
	}
	return out
}

// middleCut keeps the beginning and the end of a text, which tell most, and says what is missing.
func middleCut(text string, limit int, note string) string {
	head, from := limit-limit/4, len(text)-limit/4
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return fmt.Sprintf("%s\n[... %d of %d bytes are left out here; %s ...]\n%s", text[:head], from-head, len(text), note, text[from:])
}

// A keeper writes what is cut from results to files that only this user can read.
type keeper struct {
	mu  sync.Mutex
	dir string // "" until a temporary one is made
}

// keep gives words that say where the whole is now. Its file is new, whatever the call's id: ids of callers may repeat.
func (k *keeper) keep(id, suffix string, whole []byte) string {
	path, err := k.write(safeName(id)+"-*"+suffix, whole)
	if err != nil {
		return "the whole could not be kept: " + err.Error()
	}
	return "the whole is in " + path
}

func (k *keeper) write(pattern string, whole []byte) (path string, err error) {
	dir, err := k.folder()
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, pattern) // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(whole)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// folder makes the folder. The temporary one has a name that nobody can take before us.
func (k *keeper) folder() (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dir != "" {
		return k.dir, os.MkdirAll(k.dir, 0o700)
	}
	dir, err := os.MkdirTemp("", "toolhost-results-")
	k.dir = dir
	return dir, err
}

// safeName keeps a caller's id from naming another folder.
func safeName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id[:min(len(id), 100)])
}
