package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// shownStderr is how much of a failing discovery command's stderr a notice shows.
const shownStderr = 1 << 10

var (
	errTimeout  = errors.New("timed out")
	errTooLarge = errors.New("printed too much")
)

// discover runs the discovery command and gives what it printed, or in words what went wrong. It ends early enough for
// a host that waits until the plugin is ready: else the plugin could not be used at all.
func (s *settings) discover(ctx context.Context) ([]byte, error) {
	l := proctree.LimitsFor(ctx, s.discoveryTimeout)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, l.Run, errTimeout)
	defer cancel()
	stdout := &headBuffer{limit: s.maxDiscovery, over: func() { stop(errTooLarge) }}
	stderr := &headBuffer{limit: shownStderr}
	c := s.discovery.in(s.workdir, l)
	c.Stdout, c.Stderr = stdout, stderr
	exit, err := c.Run(ctx)
	switch {
	case stdout.leftOut() > 0:
		return nil, fmt.Errorf("it printed more than %d bytes and was stopped", s.maxDiscovery)
	case errors.Is(context.Cause(ctx), errTimeout) && (exit.Canceled || err != nil):
		return nil, errors.New(discoveryError(l) + quoted(stderr))
	case err != nil:
		return nil, errors.New(s.discovery.whyNot(err, s.workdir))
	case exit.Signal != 0:
		return nil, fmt.Errorf("it was ended by %s%s", exit.SignalName(), quoted(stderr))
	case exit.Code != 0:
		return nil, fmt.Errorf("it failed with exit code %d%s", exit.Code, quoted(stderr))
	}
	return stdout.kept, nil
}

// discoveryError says how long the command had, and what would give it more.
func discoveryError(l proctree.Limits) string {
	text := fmt.Sprintf("it was not done after %v and was stopped", l.Shown())
	if l.Call != 0 {
		text += "; the plugin's start_timeout leaves it no more, raise that"
	}
	return text
}

// quoted is the start of what was printed on stderr, to put behind a sentence.
func quoted(stderr *headBuffer) string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(stderr.kept), "\uFFFD")), "\n")
	if lines[0] == "" {
		return "; it printed nothing on stderr"
	}
	const most = 5
	text := strings.Join(lines[:min(most, len(lines))], " | ") // a notice is one line
	if len(lines) > most || stderr.leftOut() > 0 {
		text += " | ..."
	}
	return "; stderr: " + text
}

// This file reads what a discovery command printed as JSON. Keys are compared exactly, as the format does.

// array returns the JSON array that was printed.
func array(printed []byte) (json.RawMessage, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(printed), []byte("\uFEFF")))
	if len(text) == 0 {
		return nil, errors.New("it printed nothing; it must print a JSON array of tools")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		at := int64(bytes.Index(printed, text))
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			at += e.Offset
		}
		return nil, fmt.Errorf("it printed no valid JSON: %w at byte %d; it begins with %q%s", err, at,
			textutil.Cut(string(text[:min(len(text), 64)]), 60), otherOutput(text, err))
	}
	if rawjson.Kind(whole) != "an array" {
		return nil, fmt.Errorf("it printed %s; it must print a JSON array of tools", rawjson.Kind(whole))
	}
	return wellFormed(whole), nil
}

// wellFormed puts U+FFFD in place of bytes of a JSON text that are not UTF-8, and of halves of surrogate pairs, as
// Gemini CLI reads them: a host takes no schema with either.
func wellFormed(text []byte) []byte {
	text = bytes.ToValidUTF8(text, []byte("\uFFFD")) // a copy
	for at := 0; ; at += len(`\n`) {
		next := bytes.IndexByte(text[at:], '\\')
		if next < 0 {
			return text
		}
		at += next
		switch r := escaped(text[at:]); {
		case !utf16.IsSurrogate(r):
		case utf16.DecodeRune(r, escaped(text[at+len(`\uFFFD`):])) == unicode.ReplacementChar:
			copy(text[at:], `\uFFFD`)
		default:
			at += len(`\uFFFD`)
		}
	}
}

// escaped is the character of an escape with its number at the start of a text, 0 without one.
func escaped(text []byte) rune {
	if !bytes.HasPrefix(text, []byte(`\u`)) {
		return 0
	}
	r, _ := strconv.ParseUint(string(text[2:6]), 16, 32)
	return rune(r)
}

// otherOutput is the advice about an array that is not all that was printed, and about objects without one.
func otherOutput(text []byte, err error) string {
	more := strings.Contains(err.Error(), "after top-level value")
	switch {
	case text[0] == '{' && more:
		return "; print one array with all tools"
	case text[0] == '[' && more, bytes.Contains(text, []byte("\n[")):
		return "; only the array may be on standard output, print other text on standard error"
	}
	return ""
}

// items are the elements of a JSON array; none of other JSON.
func items(array json.RawMessage) []json.RawMessage {
	list, _, _ := rawjson.Elements(array, math.MaxInt)
	return list
}

// object returns the fields of a JSON object, nil for anything else.
func object(raw json.RawMessage) (fields map[string]json.RawMessage) {
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}
