package history

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/internal/errorcode"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// A Filter selects calls. All fields that are set must match; the zero Filter selects all calls.
type Filter struct {
	// Tool is a full name, or a pattern of names in the form of path.Match. A pattern other than PLUGIN__* may match 200
	// names of the record.
	Tool                               string
	Plugin, SessionID, Caller, Workdir string
	CallID, ViaCallID                  string
	// Status is ok, error or unfinished; Outcome is not_sent, failed or outcome_unknown.
	Status, Name, Outcome, Rule, ApprovalAnswer string
	// Codes and Effects are alternatives. Codes are those of package sdk, in either case, and others that the record has;
	// effects are allow, ask, always_ask and deny.
	Codes, Effects []string
	// Since and Until bound Call.Time, to the microsecond; a call at Until is not selected, and Until is after Since.
	Since, Until time.Time
	// AtLeast selects ended calls that took at least this long, in whole microseconds.
	AtLeast time.Duration
	// Text are words that all occur in the call's texts: names, reasons, errors, and arguments and results where the
	// record has them. Letters match in either case. Words between quotes, or with other characters than blanks between
	// them, such as main.go, must follow each other in one text.
	Text string
}

// A FilterError says what is wrong with a filter or a cursor.
type FilterError struct{ Text string }

func (e *FilterError) Error() string { return e.Text }

const (
	maxText         = 1000 // bytes
	maxPhrases      = 32
	maxAlternatives = 200
)

// A query is a filter in the index's terms.
type query struct {
	match string // of the full-text index, "" for all
	none  bool   // no call can match

	since, until int64 // microseconds
	timed        bool

	// took is set when calls of the class border must be looked at one by one: they took about as long as the filter says.
	took  int64
	above []string // match by higher classes, of which a call has one
	edge  string   // and by that class alone
}

// check refuses what no call can match, and what is easily mistaken for it.
func (f *Filter) check(ctx context.Context, q querier) error {
	for _, c := range []struct {
		what   string
		values []string
		known  []string
	}{
		{"status of a call", []string{f.Status}, []string{"ok", "error", statusUnfinished}},
		{"outcome of a call", []string{f.Outcome}, []string{string(sdk.OutcomeNotSent), string(sdk.OutcomeFailed),
			string(sdk.OutcomeUnknown)}},
		{"effect of a rule", f.Effects, []string{string(policy.Allow), string(policy.Ask), string(policy.AlwaysAsk),
			string(policy.Deny)}},
	} {
		for _, v := range c.values {
			if v != "" && !slices.Contains(c.known, v) {
				return &FilterError{fmt.Sprintf("%q is not a known %s; there are %s", v, c.what, textutil.List(c.known, "and"))}
			}
		}
	}
	switch {
	case f.AtLeast < 0:
		return &FilterError{fmt.Sprintf("calls cannot take at least %v; choose a time above zero", f.AtLeast)}
	case f.AtLeast > maxAtLeast:
		return &FilterError{fmt.Sprintf("no call takes at least %v; choose a time of %v at most", f.AtLeast, maxAtLeast)}
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return &FilterError{fmt.Sprintf("no call is from %s on and before %s; choose an end after the beginning",
			f.Since.UTC().Format(time.RFC3339), f.Until.UTC().Format(time.RFC3339))}
	}
	return f.checkCodes(ctx, q)
}

// checkCodes refuses codes that there are not, and writes those in capitals that there are.
func (f *Filter) checkCodes(ctx context.Context, q querier) error {
	f.Codes = slices.Clone(f.Codes) // the caller's own do not change
	for i, code := range f.Codes {
		if upper := strings.ToUpper(code); code == "" || errorcode.Known(sdk.Code(upper)) {
			f.Codes[i] = upper
			continue
		}
		var recorded bool // a plugin in the host's own process may have codes of its own
		err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM series WHERE code = ?)", code).Scan(&recorded)
		if err != nil {
			return err
		}
		if !recorded {
			return &FilterError{fmt.Sprintf("no call has the error code %q; docs/errors.md lists the codes, such as E_TOOL",
				code)}
		}
	}
	return nil
}

// compile translates the filter.
func (f *Filter) compile(ctx context.Context, q querier) (*query, error) {
	if err := f.check(ctx, q); err != nil {
		return nil, err
	}
	out := &query{since: minTime, until: maxTime}
	if !f.Since.IsZero() {
		out.since, out.timed = f.Since.UnixMicro(), true
	}
	if !f.Until.IsZero() {
		out.until, out.timed = f.Until.UnixMicro(), true
	}
	var all []string
	for _, v := range []struct {
		field field
		value string
	}{{fieldCallID, f.CallID}, {fieldSession, f.SessionID}, {fieldVia, f.ViaCallID}, {fieldPlugin, f.Plugin},
		{fieldCaller, f.Caller}, {fieldWorkdir, f.Workdir}, {fieldStatus, f.Status}, {fieldName, f.Name},
		{fieldOutcome, f.Outcome}, {fieldRule, f.Rule}, {fieldAnswer, f.ApprovalAnswer}} {
		if v.value != "" {
			all = append(all, fieldMatch(v.field, v.value))
		}
	}
	var tools []string
	if prefix, is := f.prefix(); is {
		all = append(all, fieldMatch(fieldPrefix, prefix))
	} else {
		var err error
		if tools, err = f.tools(ctx, q); err != nil {
			return nil, err
		}
		out.none = f.Tool != "" && f.Tool != "*" && len(tools) == 0
	}
	for field, values := range map[field][]string{fieldTool: tools, fieldCode: f.Codes, fieldEffect: f.Effects} {
		if len(values) > maxAlternatives {
			return nil, &FilterError{fmt.Sprintf("the filter is for one of %d names; at most %d are possible", len(values),
				maxAlternatives)}
		}
		var alternatives []string
		for _, v := range values {
			alternatives = append(alternatives, fieldMatch(field, v))
		}
		all = append(all, either(alternatives)...)
	}
	phrases, err := phrasesOf(f.Text)
	if err != nil {
		return nil, err
	}
	all = append(all, phrases...)
	slices.Sort(all) // maps have no order
	out.match = strings.Join(all, " AND ")
	if f.AtLeast > 0 {
		out.atLeast(int64((f.AtLeast+time.Microsecond-1)/time.Microsecond), all)
	}
	return out, nil
}

// maxAtLeast is the longest AtLeast: a century, which leaves room to round up.
const maxAtLeast = 100 * 365 * 24 * time.Hour

const minTime, maxTime = -1 << 62, 1 << 62

// fieldMatch is the expression for a field's value.
func fieldMatch(f field, value string) string {
	var w wordWriter
	w.field(f, value)
	return `"` + strings.TrimSpace(string(w.text)) + `"`
}

// either is the expression for alternatives, nothing without any.
func either(alternatives []string) []string {
	if len(alternatives) < 2 {
		return alternatives
	}
	return []string{"(" + strings.Join(alternatives, " OR ") + ")"}
}

// atLeast selects by duration: all classes above that of the duration, and of that class the calls that took as long.
func (q *query) atLeast(took int64, all []string) {
	class := min(classOf(took), lastClass)
	var higher []string
	for _, token := range longer(class) {
		higher = append(higher, `"`+token+`"`)
		q.above = append(q.above, strings.Join(append(slices.Clone(all), `"`+token+`"`), " AND "))
	}
	edge := `"` + durationToken(0, class) + `"`
	q.edge = strings.Join(append(slices.Clone(all), edge), " AND ")
	q.match = strings.Join(append(slices.Clone(all), either(append(higher, edge))...), " AND ")
	q.took = took
	if took == classStart(class) {
		q.took = 0 // all of the class took as long
	}
}

// prefix returns PREFIX for a pattern PREFIX__*, which is a token of the calls that it matches.
func (f *Filter) prefix() (string, bool) {
	prefix, is := strings.CutSuffix(f.Tool, "__*")
	return prefix, is && prefix != "" && !strings.ContainsAny(prefix, `*?[\/`) && !strings.Contains(prefix, "__") &&
		!strings.HasSuffix(prefix, "_")
}

// tools returns the names that the filter's pattern matches, none for a pattern that matches all.
func (f *Filter) tools(ctx context.Context, q querier) ([]string, error) {
	switch {
	case f.Tool == "" || f.Tool == "*":
		return nil, nil
	case !strings.ContainsAny(f.Tool, `*?[\`):
		return []string{f.Tool}, nil
	}
	if _, err := path.Match(f.Tool, ""); err != nil {
		return nil, &FilterError{fmt.Sprintf("the pattern %q of tools is not well formed: %v", f.Tool, err)}
	}
	var out []string
	var name string
	err := eachRow(ctx, q, []any{&name}, func() error {
		if ok, _ := path.Match(f.Tool, name); ok && name != "" {
			out = append(out, name)
		}
		return nil
	}, "SELECT DISTINCT tool FROM series")
	return out, err
}

// phrasesOf returns the expressions for a text.
func phrasesOf(text string) (out []string, err error) {
	if len(text) > maxText {
		return nil, &FilterError{fmt.Sprintf("the text to search for has %d bytes; at most %d are possible", len(text),
			maxText)}
	}
	for i, part := range strings.Split(text, `"`) {
		pieces := []string{part}
		if i%2 == 0 {
			pieces = strings.Fields(part)
		}
		for _, piece := range pieces {
			var w wordWriter
			w.write(piece)
			if words := strings.TrimSpace(string(w.text)); words != "" {
				out = append(out, `"`+words+`"`)
			}
		}
	}
	switch {
	case len(out) > maxPhrases:
		return nil, &FilterError{fmt.Sprintf("the text to search for has %d words; at most %d are possible", len(out),
			maxPhrases)}
	case len(out) == 0 && strings.TrimSpace(text) != "":
		return nil, &FilterError{"the text to search for has no letters or digits"}
	}
	return out, nil
}

// A span is the calls numbered from to end-1. If whole is false, each call's time must be checked.
type span struct {
	from, end int64
	whole     bool
}

// spans returns the calls that can be in the query's time. Calls are in the order of their first lines, so that times
// nearly ascend; what the bounds of a block say holds also where a clock was set back.
func (q *query) spans(ctx context.Context, db querier, p *position) ([]span, error) {
	switch {
	case q.none || p.oldest == p.next || q.since >= q.until:
		return nil, nil
	case !q.timed:
		return []span{{p.oldest, p.next, true}}, nil
	}
	var out []span
	var id, low, high int64
	err := eachRow(ctx, db, []any{&id, &low, &high}, func() error {
		s := span{max(id*blockCalls, p.oldest), min((id+1)*blockCalls, p.next), low >= q.since && high < q.until}
		if n := len(out); n > 0 && out[n-1].end == s.from && out[n-1].whole == s.whole {
			out[n-1].end = s.end
		} else if s.from < s.end {
			out = append(out, s)
		}
		return nil
	}, "SELECT id, low, high FROM blocks WHERE high >= ? AND low < ? ORDER BY id", q.since, q.until)
	return out, err
}
