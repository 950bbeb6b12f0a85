package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/internal/textutil"
)

// Kind says what a record is about.
type Kind string

// The kinds that hosts write, and two that only the log itself writes.
const (
	KindDecision Kind = "decision" // the rules, and a person if one was asked, have decided
	KindCall     Kind = "call"     // a call has ended
	KindStart    Kind = "start"    // a plugin's process has started
	KindExit     Kind = "exit"     // a plugin's process has ended

	KindTorn Kind = "torn" // the line above was left unfinished by a crash; see Record.Torn
	KindCut  Kind = "cut"  // the log did not end as its head said; see Record.Head
)

// A Record is one line of the log. Empty fields are left out of the line, except Seq, Time, Kind, Prev and Hash. Texts
// are redacted and cut at 2048 bytes.
type Record struct {
	// Seq numbers the records of a file from 1. The log sets it.
	Seq int64 `json:"seq"`
	// Time is when it happened; zero stands for now. It is written in UTC, to the nanosecond.
	Time time.Time `json:"time"`
	// Kind must be one that hosts write.
	Kind Kind `json:"kind"`

	// CallID joins the records of one call. It is empty for the starts and exits of plugins.
	CallID string `json:"call_id,omitempty"`
	// Tool is the full name in the call; there need not be such a tool.
	Tool   string `json:"tool,omitempty"`
	Plugin string `json:"plugin,omitempty"`
	// Caller and SessionID identify who made the call.
	Caller    string `json:"caller,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Workdir   string `json:"workdir,omitempty"`
	// ViaTool is the tool whose handler made this nested call, and ViaCallID that tool's call; empty for calls of agents
	// and people.
	ViaTool   string `json:"via_tool,omitempty"`
	ViaCallID string `json:"via_call_id,omitempty"`

	// ArgumentsSHA256 and ArgumentsBytes are of the arguments byte for byte, before any redaction. The log sets them when
	// Arguments is given without them.
	ArgumentsSHA256 string `json:"arguments_sha256,omitempty"`
	ArgumentsBytes  int64  `json:"arguments_bytes,omitempty"`
	// Arguments are written only with Options.Content: redacted, and as a string if they are no JSON or over 64 KiB.
	Arguments json.RawMessage `json:"arguments,omitempty"`

	// Effect is allow, ask, always_ask or deny. Rule, Layer and Source say where it comes from, and Reason why; for kinds
	// other than decisions Reason is why it ended so.
	Effect string `json:"effect,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Layer  string `json:"layer,omitempty"`
	Source string `json:"source,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Approval is a person's answer, nil when no person was asked.
	Approval *Approval `json:"approval,omitempty"`

	// Status is ok or error, with the error's Code, Name and Outcome: not_sent, failed or outcome_unknown.
	Status  string `json:"status,omitempty"`
	Code    string `json:"code,omitempty"`
	Name    string `json:"name,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	// ResultSHA256, ResultBytes and Result are like the three fields of the arguments, of Content if that is given.
	ResultSHA256 string          `json:"result_sha256,omitempty"`
	ResultBytes  int64           `json:"result_bytes,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	// DurationMS is how long it took, in milliseconds.
	DurationMS float64 `json:"duration_ms,omitempty"`
	// Attempts is how often the plugin was asked, Generation the start of it that was asked last.
	Attempts   int `json:"attempts,omitempty"`
	Generation int `json:"generation,omitempty"`

	// Note says what was left out.
	Note string `json:"note,omitempty"`
	// Torn is set for KindTorn, Head for KindCut: what the head said, all zero if it was gone. Only the log sets them.
	Torn *Torn `json:"torn,omitempty"`
	Head *Head `json:"head,omitempty"`

	// Prev is the Hash of the record before, 64 zeros for the first. Hash is the SHA-256 of this line without its
	// ending `,"hash":"…"` but with the brace. The log sets both.
	Prev string `json:"prev"`
	Hash string `json:"hash,omitempty"`

	// Content is the result, in place of Result: the log hashes what WriteTo writes, and asks for its JSON only with
	// Options.Content. It is not used after Append.
	Content Content `json:"-"`

	// Sync makes Append wait until the record is on the disk. Hosts ask for it before a call that may change things.
	Sync bool `json:"-"`
	// Later lets Append return before the record is written, which happens within a few milliseconds, and at the latest
	// when the log is closed; a process that is killed before loses it. A failure to write it is the error of a later
	// Append, or of Close. Hosts ask for it for calls that only read, for calls over a limit, which were not run, and for
	// the ends of calls.
	Later bool `json:"-"`
}

// Content is a result to be hashed, and kept as JSON.
type Content interface {
	io.WriterTo
	json.Marshaler
}

// An Approval is a person's answer to a call.
type Approval struct {
	// By is who or what answered.
	By string `json:"by,omitempty"`
	// Answer is approved, rejected or changed, or the code of the error when there was none.
	Answer string `json:"answer"`
	// Scope is which later calls the answer stands for, empty for none.
	Scope string `json:"scope,omitempty"`
}

// Torn describes the unfinished line above a record of KindTorn.
type Torn struct {
	// Bytes is its length, without the line end that was added later, and SHA256 the hash of as much.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// check sets the fields that only the log sets, and reports records that it does not take.
func (r *Record) check() error {
	switch r.Kind {
	case KindDecision, KindCall, KindStart, KindExit:
	default:
		return fmt.Errorf("%q is not a kind of record that hosts write", r.Kind)
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	r.Time, r.Torn, r.Head = r.Time.UTC(), nil, nil
	return nil
}

// appendTo appends the members of the record between seq and prev, in the order of its struct tags and without a comma
// at the ends: redacted, and cut to fit one line, if it is given to a log. It costs a fifth of what reflection costs:
// every call waits for it, or for a record before its own.
func (r *Record) appendTo(b []byte, l *Log) ([]byte, error) {
	e := encoder{text: b, log: l, note: r.Note}
	switch year := r.Time.Year(); {
	case year < 0 || year > 9999:
		e.err = fmt.Errorf("the year %d has no form in it", year)
	case math.IsNaN(r.DurationMS) || math.IsInf(r.DurationMS, 0):
		e.err = fmt.Errorf("the duration %v has no form in it", r.DurationMS)
	}
	e.text = append(e.text, `"time":"`...)
	e.text = r.Time.AppendFormat(e.text, time.RFC3339Nano)
	e.text = append(e.text, `","kind":`...)
	e.quote(string(r.Kind))
	e.member("call_id", r.CallID)
	e.members(whoMembers, texts{r.Tool, r.Plugin, r.Caller, r.SessionID, r.Workdir, r.ViaTool})
	e.member("via_call_id", r.ViaCallID)
	e.content(&argumentMembers, r.Arguments, r.ArgumentsSHA256, r.ArgumentsBytes)
	e.members(whyMembers, texts{r.Effect, r.Rule, r.Layer, r.Source, r.Reason})
	e.approval(r.Approval)
	e.members(endMembers, texts{r.Status, r.Code, r.Name, r.Outcome})
	if r.Content != nil {
		e.result(r.Content)
	} else {
		e.content(&resultMembers, r.Result, r.ResultSHA256, r.ResultBytes)
	}
	if r.DurationMS != 0 {
		e.key("duration_ms")
		e.text = strconv.AppendFloat(e.text, r.DurationMS, 'f', -1, 64)
	}
	e.number("attempts", int64(r.Attempts))
	e.number("generation", int64(r.Generation))
	e.member("note", e.note)
	if r.Torn != nil {
		e.value("torn", r.Torn)
	}
	if r.Head != nil {
		e.value("head", r.Head)
	}
	if e.err != nil {
		return b, fmt.Errorf("the record cannot be written as JSON: %w", e.err)
	}
	return e.text, nil
}

// An encoder appends members to an object that has some already. Empty values are left out.
type encoder struct {
	text []byte
	log  *Log   // redacts; nil: what is written is the log's own
	note string // what was left out
	err  error  // the first
}

const (
	maxContent = 64 << 10 // bytes of arguments, and of a result, after redaction
	maxText    = 2 << 10  // bytes of any other text
)

func (e *encoder) redacted(text string) string {
	if e.log == nil || text == "" {
		return text
	}
	return textutil.Cut(e.log.redact.Text(text), maxText)
}

// texts are of members that follow each other, in their order.
type texts [6]string

// The groups of members whose texts are often those of the record before, with their names.
const (
	whoMembers = iota
	whyMembers
	endMembers
	groups
)

var groupNames = [groups]texts{
	whoMembers: {"tool", "plugin", "caller", "session_id", "workdir", "via_tool"},
	whyMembers: {"effect", "rule", "layer", "source", "reason"},
	endMembers: {"status", "code", "name", "outcome"},
}

// recentTexts are the texts of groups in the last records, with what was written of them: to look for secrets in names
// of tools and rules, folders and reasons, and to quote them, is a third of a record's cost.
type recentTexts [groups][64]atomic.Pointer[writtenTexts]

type writtenTexts struct {
	given   texts
	written string
}

// slot is where recentTexts have texts: of what tells most of them apart, which takes less than a hash of all.
func (t *texts) slot() (n uint) {
	for _, s := range t {
		n *= 31
		if len(s) > 0 {
			n += uint(len(s)) + uint(s[len(s)-1])<<3 + uint(s[len(s)/2])<<7
		}
	}
	return n ^ n>>6
}

func (e *encoder) members(group int, given texts) {
	if e.log == nil {
		e.group(group, given)
		return
	}
	recent := &e.log.recent[group]
	slot := &recent[given.slot()%uint(len(recent))]
	if found := slot.Load(); found != nil && found.given == given {
		e.text = append(e.text, found.written...)
		return
	}
	begin := len(e.text)
	e.group(group, given)
	size := len(e.text) - begin
	for _, text := range given {
		size += len(text)
	}
	const longest = 2 << 10
	if size > longest {
		return
	}
	for i := range given {
		given[i] = strings.Clone(given[i]) // it may be a part of something large
	}
	slot.Store(&writtenTexts{given, string(e.text[begin:])})
}

func (e *encoder) group(group int, given texts) {
	for i, name := range groupNames[group] {
		e.member(name, given[i])
	}
}

// The names of the members about arguments and results: the hash, the size and the content.
type contentMembers struct{ what, sum, size string }

var (
	argumentMembers = contentMembers{"arguments", "arguments_sha256", "arguments_bytes"}
	resultMembers   = contentMembers{"result", "result_sha256", "result_bytes"}
)

// content appends what the record has of arguments or a result: their hash and size, and themselves only as far as the
// options allow.
func (e *encoder) content(m *contentMembers, content json.RawMessage, sum string, size int64) {
	if content != nil && e.log != nil {
		size = int64(len(content))
	}
	switch {
	case isHash(sum):
		e.key(m.sum)
		e.text = append(append(append(e.text, '"'), sum...), '"')
	case content != nil && e.log != nil:
		e.hash(m, sha256.Sum256(content))
	default:
		e.member(m.sum, sum)
	}
	e.number(m.size, size)
	switch {
	case e.log == nil:
		e.raw(m.what, content)
	case e.log.content && content != nil:
		e.raw(m.what, e.kept(m.what, content))
	}
}

func (e *encoder) hash(m *contentMembers, sum [sha256.Size]byte) {
	e.key(m.sum)
	e.text = append(hex.AppendEncode(append(e.text, '"'), sum[:]), '"')
}

// A hasher hashes what is written to it, in pieces that are not copied one by one.
type hasher struct {
	*bufio.Writer // to pieces
	pieces        pieces
	sum           [sha256.Size]byte
}

// pieces are hashed with a look at other goroutines now and then: the hash of a megabyte takes half a millisecond, in
// which a small call would wait.
type pieces struct {
	hash.Hash
	hashed int // bytes since the last look
}

func (p *pieces) Write(b []byte) (int, error) {
	const enough = 64 << 10
	if p.hashed += len(b); p.hashed >= enough {
		p.hashed = 0
		runtime.Gosched()
	}
	return p.Hash.Write(b)
}

// hashers are used again: a new one takes 5 KiB, more than all else of a small call.
var hashers = sync.Pool{New: func() any {
	h := &hasher{pieces: pieces{Hash: sha256.New()}}
	h.Writer = bufio.NewWriter(&h.pieces)
	return h
}}

// result hashes a result, and has its JSON made only if that is kept.
func (e *encoder) result(content Content) {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	h.pieces.Reset()
	size, _ := content.WriteTo(h.Writer) // a hash takes everything
	_ = h.Flush()
	e.hash(&resultMembers, [sha256.Size]byte(h.pieces.Sum(h.sum[:0])))
	e.number(resultMembers.size, size)
	if e.log == nil || !e.log.content {
		return
	}
	if text, err := content.MarshalJSON(); err == nil { // what has no JSON form is left out
		e.raw(resultMembers.what, e.kept(resultMembers.what, text))
	}
}

// kept is content as the record has it: redacted, and as a string if it is no JSON or too long.
func (e *encoder) kept(what string, content json.RawMessage) json.RawMessage {
	valid := json.Valid(content)
	text := bytes.ToValidUTF8(e.log.redact.JSONStart(content, maxContent+1), []byte("\ufffd"))
	if valid && len(text) <= maxContent {
		return text
	}
	if len(text) > maxContent {
		e.note = strings.TrimPrefix(e.note+fmt.Sprintf("; the %s of %d bytes stand here up to %d bytes", what, len(content),
			maxContent), "; ")
	}
	text, _ = json.Marshal(textutil.Cut(string(text), maxContent)) // a string can always be written
	return text
}

func (e *encoder) approval(a *Approval) {
	if a != nil {
		e.value("approval", &Approval{By: e.redacted(a.By), Answer: e.redacted(a.Answer), Scope: e.redacted(a.Scope)})
	}
}

func (e *encoder) key(name string) {
	e.text = append(e.text, `,"`...)
	e.text = append(e.text, name...)
	e.text = append(e.text, `":`...)
}

func (e *encoder) quote(text string) {
	if isPlain(text) {
		e.text = append(append(append(e.text, '"'), text...), '"')
		return
	}
	quoted, err := jsontext.AppendQuote(e.text, text)
	if err != nil { // invalid UTF-8
		quoted, _ = jsontext.AppendQuote(e.text, strings.ToValidUTF8(text, "\ufffd"))
	}
	e.text = quoted
}

// isPlain reports whether JSON has the text without escapes, as almost all texts of records.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func (e *encoder) member(name, text string) {
	if text != "" {
		e.key(name)
		e.quote(e.redacted(text))
	}
}

func (e *encoder) number(name string, n int64) {
	if n != 0 {
		e.key(name)
		e.text = strconv.AppendInt(e.text, n, 10)
	}
}

// raw appends JSON without line ends, which JSON has only between its tokens.
func (e *encoder) raw(name string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	if !bytes.ContainsAny(value, "\r\n") {
		e.key(name)
		e.text = append(e.text, value...)
		return
	}
	e.value(name, value)
}

func (e *encoder) value(name string, v any) {
	text, err := json.Marshal(v)
	if err != nil && e.err == nil {
		e.err = err
	}
	e.key(name)
	e.text = append(e.text, text...)
}
