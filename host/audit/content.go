package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
)

const (
	maxContent = 64 << 10 // bytes of arguments, and of a result, after redaction
	maxText    = 2 << 10  // bytes of any other text
)

// prepare makes of a record what may be written: checked, redacted, and small enough for one line.
func (l *Log) prepare(r *Record) error {
	switch r.Kind {
	case KindDecision, KindCall, KindStart, KindExit:
	default:
		return fmt.Errorf("%q is not a kind of record that hosts write", r.Kind)
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	r.Time, r.Torn, r.Head = r.Time.UTC(), nil, nil
	if r.Approval != nil {
		r.Approval = new(*r.Approval) // the caller's own stays as it is
	}
	l.keep(r, "arguments", &r.Arguments, &r.ArgumentsSHA256, &r.ArgumentsBytes)
	l.keep(r, "result", &r.Result, &r.ResultSHA256, &r.ResultBytes)
	for _, text := range r.texts() {
		*text = textutil.Cut(l.redact.Text(*text), maxText)
	}
	return nil
}

// keep hashes the content, and then keeps what may be kept of it.
func (l *Log) keep(r *Record, what string, content *json.RawMessage, sum *string, size *int64) {
	if *content == nil {
		return
	}
	*sum, *size = hashOf(*content), int64(len(*content))
	if !l.content {
		*content = nil
		return
	}
	valid := json.Valid(*content)
	text := bytes.ToValidUTF8(l.redact.JSON(*content), []byte("\ufffd"))
	if valid && len(text) <= maxContent {
		*content = text
		return
	}
	if len(text) > maxContent {
		r.Note = strings.TrimPrefix(r.Note+fmt.Sprintf("; the %s of %d bytes stand here up to %d bytes", what, *size, maxContent), "; ")
	}
	*content, _ = json.Marshal(textutil.Cut(string(text), maxContent)) // a string can always be written
}
