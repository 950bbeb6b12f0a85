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
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/internal/errorcode"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// truncate cuts error messages and results to a size fit for a model. The full text of a result that is cut is kept in
// a file.
func (h *snapshot) truncate(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		result, err := next(ctx, c)
		if result == nil && asError(err) == nil {
			err = fail(sdk.CodeInternal, "NoResult",
				"a middleware of this host (Options.Middleware) returned neither a result nor an error")
		}
		if result != nil {
			out := *result // the plugin may keep a reference to its own
			out.Error = h.shapeError(out.Error)
			out.Truncated = out.Truncated || c.wasLarge
			h.newCutter(c).cut(&out)
			result = &out
		}
		if e := h.shapeError(asError(err)); e != nil {
			return result, e
		}
		return result, nil
	}
}

const maxURL = 2 << 10 // the longest link of an error, in bytes

// shapeError also makes up for what plugins in the host's own process, and middleware, leave out or make up: the sdk
// does the same for others.
func (h *snapshot) shapeError(e *sdk.Error) *sdk.Error {
	if e == nil {
		return nil
	}
	out := *e
	if !errorcode.Known(out.Code) {
		out.Code = sdk.CodeTool
	}
	if out.Message == "" {
		out.Message = fmt.Sprintf("the call failed with %s and no message", cmp.Or(out.Name, "an error without a name"))
		out.Suggestion = cmp.Or(out.Suggestion, "This is a bug in the plugin: its error needs a text.")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(out.Details, &object) != nil || object == nil {
		out.Details = nil
	}
	if out.Suggestion == "" {
		if out.Suggestion = errorcode.Advice(out.Code); out.Retryable && out.Outcome != sdk.OutcomeUnknown {
			out.Suggestion = "Make the call again in a moment."
		}
	}
	out.Name = cutText(out.Name, 100)
	out.Message = cutText(out.Message, h.options.ErrorMessageLimit)
	out.Suggestion = cutText(out.Suggestion, h.options.ErrorMessageLimit)
	u, err := url.Parse(out.HelpURL) // it is the plugin's, shown beside our text
	if err != nil || len(out.HelpURL) > maxURL || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" ||
		strings.ContainsFunc(out.HelpURL, textutil.Invisible) {
		out.HelpURL = ""
	}
	if out.HelpURL == "" && out.Code != sdk.CodeTool {
		out.HelpURL = troubleshooting + strings.ToLower(string(out.Code))
	}
	return &out
}

// troubleshooting is the page with a section for each code of the host.
const troubleshooting = "https://github.com/toolhost/toolhost/blob/main/docs/troubleshooting.md#"

// cutText returns the first characters of s.
func cutText(s string, limit int) string { return textutil.CutRunes(s, limit, "... (truncated)") }

// A cutter shortens the result of one call, and stores the full text of what it cuts.
type cutter struct {
	limit int // bytes
	id    string
	store *resultStore
	kept  *[]string // paths of what was stored
}

// newCutter uses the limit that the user set, otherwise the tool's, otherwise the host's; in a batch, the call's
// share if that is less.
func (h *snapshot) newCutter(c *Call) cutter {
	limit := h.options.MaxResultBytes
	if t := c.recorded().Definition; t != nil { // nil when a middleware has answered a call of an unknown tool
		limit = firstPositive(h.options.Tools[t.Name].MaxResultBytes, t.MaxResultBytes, limit)
	}
	if c.item != nil {
		limit = min(limit, c.item.share)
	}
	return cutter{int(min(limit, sdk.MaxResult)), c.ID, h.results, &c.keptFiles}
}

// cut shortens the texts of r: all text parts together, and that of each resource by itself. JSON is kept whole or
// left out.
func (x cutter) cut(r *sdk.Result) {
	text := joinTexts(r.Content)
	if len(text) > x.limit {
		r.Content, r.Truncated = replaceTexts(r.Content, x.cutMiddle(text)), true
	}
	if len(r.Extra) > x.limit {
		r.Extra, r.Truncated = nil, true
	}
	for i, p := range r.Content {
		if excess := len(p.Extra) > x.limit; excess || len(p.Source) > x.limit { // without its source a part says the same
			r.Content, r.Truncated = slices.Clone(r.Content), r.Truncated || excess
			if p.Source = nil; excess {
				p.Extra = nil
			}
			r.Content[i] = p
		}
		switch {
		case p.Type == "text":
			continue
		case len(p.Raw) > x.limit:
			p = x.leaveOut("A part of the result", p.Raw)
		case len(p.Text) > x.limit:
			p.Text = x.cutMiddle(p.Text)
		default:
			continue
		}
		r.Content, r.Truncated = slices.Clone(r.Content), true
		r.Content[i] = p
	}
	if len(r.Structured) > x.limit {
		if string(r.Structured) != text { // otherwise it is in the same file
			r.Content = append(slices.Clip(r.Content), x.leaveOut("The structured result", r.Structured))
		}
		r.Structured, r.Truncated = nil, true
	}
}

func (x cutter) cutMiddle(s string) string {
	return middleCut(s, x.limit, x.save(".txt", []byte(s)))
}

// leaveOut returns the text that replaces JSON over the limit.
func (x cutter) leaveOut(what string, raw []byte) sdk.Content {
	return sdk.TextContent(fmt.Sprintf("[%s has %d bytes and is left out; %s]", what, len(raw), x.save(".json", raw)))
}

// replaceTexts puts one text where the first text was, and removes the others.
func replaceTexts(parts []sdk.Content, text string) (out []sdk.Content) {
	replaced := false
	for _, p := range parts {
		switch {
		case p.Type != "text":
			out = append(out, p)
		case !replaced:
			out, replaced = append(out, sdk.TextContent(text)), true
		}
	}
	return out
}

// middleCut keeps the beginning and the end of a text, its most informative parts, and says what is missing.
func middleCut(text string, limit int, note string) string {
	return joinEnds(text[:limit-limit/4], text[len(text)-limit/4:], int64(len(text)), note)
}

// joinEnds joins the ends of a text of so many bytes, without the characters that are cut in two.
func joinEnds(head, tail string, size int64, note string) string {
	head = head[:len(textutil.TrimPartialEnd(textutil.ReadOnlyBytes(head)))]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n[... %d of %d bytes are left out here; %s ...]\n%s", head, size-int64(len(head)+len(tail)),
		size, note, tail)
}

// A resultStore writes results that are cut to files that only this user can read. Of all of them the newest are kept.
type resultStore struct {
	mu    sync.Mutex
	dir   string   // "" until a temporary one is made
	files []stored // the oldest first
	size  int64    // of all of them
}

type stored struct {
	path string
	size int64
}

const (
	maxStored      = 1 << 30 // bytes of the files that a host keeps
	maxStoredFiles = 1000
)

// add counts a file, and removes the oldest ones over the limits, but never this one.
func (s *resultStore) add(f stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files, s.size = append(s.files, f), s.size+f.size
	for len(s.files) > maxStoredFiles || s.size > maxStored && len(s.files) > 1 {
		_ = os.Remove(s.files[0].path) // it is removed some days later then
		s.size -= s.files[0].size
		s.files = s.files[1:]
	}
}

// save stores the full text and returns a note that names the file.
func (x cutter) save(suffix string, whole []byte) string {
	f := x.create(suffix)
	f.write(whole)
	return x.keep(f)
}

// A keptFile gets the full text of something that is cut. After the first error it is not written any more.
type keptFile struct {
	*os.File // nil if it could not be made
	size     int64
	err      error
}

// create makes a file that only this user can read. It is always new: callers may use a call's id twice.
func (x cutter) create(suffix string) (f keptFile) {
	dir, err := x.store.makeDir()
	if f.err = err; err == nil {
		f.File, f.err = os.CreateTemp(dir, safeName(x.id)+"-*"+suffix) // mode 0600
	}
	return f
}

func (f *keptFile) write(b []byte) {
	if f.err == nil {
		_, f.err = f.Write(b)
		f.size += int64(len(b))
	}
}

// keep closes the file, and returns a note that names it.
func (x cutter) keep(f keptFile) string {
	if f.err == nil {
		f.err = f.Close()
	}
	if f.err != nil {
		f.remove()
		return "the whole could not be kept: " + f.err.Error()
	}
	x.store.add(stored{f.Name(), f.size})
	*x.kept = append(*x.kept, f.Name())
	return "the whole is in " + f.Name()
}

func (f keptFile) remove() {
	if f.File != nil {
		_ = errors.Join(f.Close(), os.Remove(f.Name())) // it is removed some days later then
	}
}

// makeDir makes the folder. The name of a temporary one is random, so that no other user can make it first.
func (s *resultStore) makeDir() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, os.MkdirAll(s.dir, 0o700)
	}
	dir, err := os.MkdirTemp("", "toolhost-results-")
	s.dir = dir
	return dir, err
}

// safeName makes a caller's id safe as part of a file name.
func safeName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id[:min(len(id), 100)])
}

// Results that are too large for memory: their large parts are written to files as they come, and the model gets the
// beginning and the end.

const noteRoom = 4400 // more than the note between the two ends takes

// largeParts is the Call whose parts they are.
type largeParts Call

// OpenLarge implements sdk.LargeParts.
func (l *largeParts) OpenLarge(part sdk.Content, size int64) sdk.LargePart {
	c := (*Call)(l)
	c.wasLarge = true
	out := &largePart{cutter: c.snapshot.newCutter(c), part: part, size: size}
	suffix := ".bin"
	if out.isText() {
		// Leave room for the note and the other parts, so that the whole rarely exceeds the limit again.
		room := max(out.limit-noteRoom, out.limit/2)
		out.head, out.tail = make([]byte, 0, room-room/4), make([]byte, 0, room/4)
		suffix = ".txt"
	}
	out.file = out.create(suffix)
	return out
}

// A largePart is written to a file.
type largePart struct {
	cutter
	part       sdk.Content
	size       int64
	written    int64
	head, tail []byte // of a text, as far as they fit
	file       keptFile
}

func (p *largePart) isText() bool {
	return p.part.Type == "text" || strings.HasPrefix(p.part.MIMEType, "text/")
}

// Write implements sdk.LargePart.
func (p *largePart) Write(b []byte) {
	p.file.write(b)
	p.head = append(p.head, b[:min(len(b), cap(p.head)-len(p.head))]...)
	at := p.written
	p.written += int64(len(b))
	if begin := p.size - int64(cap(p.tail)); p.written > begin {
		p.tail = append(p.tail, b[max(begin-at, 0):]...)
	}
}

// Done implements sdk.LargePart.
func (p *largePart) Done() sdk.Content {
	note := p.keep(p.file)
	if p.isText() {
		return sdk.TextContent(textutil.Clean(joinEnds(string(p.head), string(p.tail), p.size, note)))
	}
	return sdk.TextContent(fmt.Sprintf("[A part of type %s has %d bytes and is left out; %s]",
		cmp.Or(p.part.MIMEType, p.part.Type), p.size, note))
}

// Discard implements sdk.LargePart.
func (p *largePart) Discard() { p.file.remove() }
