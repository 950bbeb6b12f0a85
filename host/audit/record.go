package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
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

// texts are the fields that hold text of others, to range over.
func (r *Record) texts(yield func(*string) bool) {
	for _, text := range [...]*string{&r.CallID, &r.Tool, &r.Plugin, &r.Caller, &r.SessionID, &r.Workdir, &r.ViaTool,
		&r.ViaCallID, &r.Effect, &r.Rule, &r.Layer, &r.Source, &r.Reason, &r.Status, &r.Code, &r.Name, &r.Outcome,
		&r.Note, &r.ArgumentsSHA256, &r.ResultSHA256} {
		if !yield(text) {
			return
		}
	}
	if a := r.Approval; a != nil {
		_ = yield(&a.By) && yield(&a.Answer) && yield(&a.Scope)
	}
}

// appendJSON appends the record as one line of JSON, with the members and the order of its struct tags. It costs a
// fifth of what reflection costs: every call waits for it, or for a record before its own.
func (r *Record) appendJSON(b []byte) ([]byte, error) {
	e := encoder{text: b}
	switch year := r.Time.Year(); {
	case year < 0 || year > 9999:
		e.err = fmt.Errorf("the year %d has no form in it", year)
	case math.IsNaN(r.DurationMS) || math.IsInf(r.DurationMS, 0):
		e.err = fmt.Errorf("the duration %v has no form in it", r.DurationMS)
	}
	e.text = append(e.text, `{"seq":`...)
	e.text = strconv.AppendInt(e.text, r.Seq, 10)
	e.text = append(e.text, `,"time":"`...)
	e.text = r.Time.AppendFormat(e.text, time.RFC3339Nano)
	e.text = append(e.text, `","kind":`...)
	e.quote(string(r.Kind))
	e.member("call_id", r.CallID)
	e.member("tool", r.Tool)
	e.member("plugin", r.Plugin)
	e.member("caller", r.Caller)
	e.member("session_id", r.SessionID)
	e.member("workdir", r.Workdir)
	e.member("via_tool", r.ViaTool)
	e.member("via_call_id", r.ViaCallID)
	e.member("arguments_sha256", r.ArgumentsSHA256)
	e.number("arguments_bytes", r.ArgumentsBytes)
	e.raw("arguments", r.Arguments)
	e.member("effect", r.Effect)
	e.member("rule", r.Rule)
	e.member("layer", r.Layer)
	e.member("source", r.Source)
	e.member("reason", r.Reason)
	if r.Approval != nil {
		e.value("approval", r.Approval)
	}
	e.member("status", r.Status)
	e.member("code", r.Code)
	e.member("name", r.Name)
	e.member("outcome", r.Outcome)
	e.member("result_sha256", r.ResultSHA256)
	e.number("result_bytes", r.ResultBytes)
	e.raw("result", r.Result)
	if r.DurationMS != 0 {
		e.key("duration_ms")
		e.text = strconv.AppendFloat(e.text, r.DurationMS, 'f', -1, 64)
	}
	e.number("attempts", int64(r.Attempts))
	e.number("generation", int64(r.Generation))
	e.member("note", r.Note)
	if r.Torn != nil {
		e.value("torn", r.Torn)
	}
	if r.Head != nil {
		e.value("head", r.Head)
	}
	e.key("prev")
	e.quote(r.Prev)
	e.member("hash", r.Hash)
	e.text = append(e.text, '}')
	if e.err != nil {
		return b, fmt.Errorf("the record cannot be written as JSON: %w", e.err)
	}
	return e.text, nil
}

// An encoder appends members to an object that has some already. Empty values are left out.
type encoder struct {
	text []byte
	err  error // the first
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
		e.quote(text)
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
