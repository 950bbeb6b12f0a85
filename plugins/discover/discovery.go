package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/toolhost/toolhost/internal/nesting"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A refresher keeps the plugin's tools in step with what the project says.
type refresher struct {
	plugin *sdk.Plugin
	mu     sync.Mutex // for configure and close
	stop   func()     // ends the watch, and waits until nothing of it runs; nil when there is none
}

// configure offers the tools that there are, and watches for others from then on. Only mistakes in the configuration
// are errors: a project whose discovery command is broken has no tools and a notice that says why, and its host starts
// all the same.
func (k *refresher) configure(ctx context.Context, workdir string, c config) error {
	s, err := c.settings(workdir)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unwatch()
	k.plugin.Cacheable(s.discovery.none())
	if s.discovery.none() { // nothing to find: tools of the configuration, or found in a plugin folder and not configured
		own := s.ownTools()
		return k.plugin.SetTools(own.tools, sdk.Remarks(own.notices()...)...)
	}
	w := newWatch(s.watched()) // made before the first discovery, so that a change during it is not missed
	f := &discoveryState{settings: s, plugin: k.plugin, notes: w.notes}
	if err := f.start(ctx); err != nil {
		w.close()
		return err
	}
	k.follow(w, f)
	return nil
}

// follow lets a watch run until unwatch.
func (k *refresher) follow(w *watch, f *discoveryState) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	k.stop = func() {
		cancel()
		w.close()
		<-done
	}
	go func() {
		defer close(done)
		retry := func(ctx context.Context) (changed bool) {
			changed = f.retry(ctx)
			f.again(w)
			return changed
		}
		f.again(w)
		w.follow(ctx, retry)
	}()
}

func (k *refresher) unwatch() {
	if k.stop != nil {
		k.stop()
		k.stop = nil
	}
}

// A discoveryState has the findings of one configuration's discovery so far.
type discoveryState struct {
	*settings
	plugin *sdk.Plugin
	notes  []string // what of the files cannot be watched
	last   *catalog // that was good; nil is none yet

	tools   []sdk.BoundTool // as the plugin has them
	notices []sdk.Notice
}

var errNoCall = errors.New("call_command is missing")

// start makes the first discovery. Only a mistake in the configuration is an error, or the end of ctx.
func (f *discoveryState) start(ctx context.Context) error {
	found, err := f.find(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errNoCall):
		return invalidConfig("%v", err)
	}
	_, err = f.take(found, err)
	return err
}

// retry makes another discovery, and reports whether anything is different. One that fails leaves the tools
// unchanged.
func (f *discoveryState) retry(ctx context.Context) (changed bool) {
	found, err := f.find(ctx)
	if ctx.Err() != nil {
		return false
	}
	changed, err = f.take(found, err)
	return changed && err == nil
}

// again has the discovery made again, as after a change, as long as none was good: what failed, such as a server that
// the command asks, may pass without a change of a file. The watch makes it ever more rarely.
func (f *discoveryState) again(w *watch) {
	if f.last == nil {
		w.noteChange()
	}
}

func (s *settings) ownTools() *catalog {
	found := &catalog{}
	for _, t := range s.tools {
		if err := found.admit(&t.Tool, t.Name); err != nil {
			found.note("the tool %q is left out: %v", t.Name, err)
			continue
		}
		found.tools = append(found.tools, t)
	}
	return found
}

// find returns the tools of the configuration, and those that the discovery command prints.
func (s *settings) find(ctx context.Context) (*catalog, error) {
	found := s.ownTools()
	configured := len(found.tools)
	printed, err := s.discover(ctx)
	if err == nil {
		err = found.read(printed, s)
	}
	if n := len(found.tools) - configured; err == nil && n > 0 && s.call.none() {
		err = fmt.Errorf("%w: discovery_command found %d tools, and there is nothing to call them with", errNoCall, n)
	}
	return found, err
}

// take offers what was found or, if that failed, what was found before, with a notice that says so.
func (f *discoveryState) take(found *catalog, err error) (changed bool, _ error) {
	failure := fmt.Sprintf("discovery_command %s: %v", f.discovery, err)
	if err != nil && f.last == nil {
		f.plugin.MissingTools(failure, false)
	} else {
		defer f.plugin.MissingTools("", false)
	}
	switch {
	case err == nil:
		f.last = found
		return f.show(found, "")
	case f.last != nil:
		return f.show(f.last, fmt.Sprintf("the tools are those of before: %s", failure))
	case len(found.tools) > 0:
		return f.show(found, fmt.Sprintf("only the tools of the configuration: %s", failure))
	default:
		return f.show(found, fmt.Sprintf("no tools: %s", failure))
	}
}

// show gives the plugin the tools of c if they, or the notices, are not what it has. Problem is "" if nothing failed.
func (f *discoveryState) show(c *catalog, problem string) (changed bool, err error) {
	notices := sdk.Remarks(slices.Concat(c.notices(), f.notes)...)
	if problem != "" {
		notices = slices.Insert(notices, 0, sdk.Notice{Kind: sdk.Problem, Text: problem})
	}
	if f.notices != nil && slices.Equal(notices, f.notices) && slices.EqualFunc(c.tools, f.tools, sameTool) {
		return false, nil
	}
	if err := f.plugin.SetTools(c.tools, notices...); err != nil {
		return false, err
	}
	f.tools, f.notices = c.tools, notices
	return true, nil
}

// sameTool compares what hosts see; the handlers of one name are the same too.
func sameTool(a, b sdk.BoundTool) bool { return reflect.DeepEqual(a.Tool, b.Tool) }

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
	c.Env = nesting.Starting(c.Env)
	c.Stdout, c.Stderr = stdout, stderr
	exit, err := c.Run(ctx)
	switch {
	case stdout.leftOut() > 0:
		return nil, fmt.Errorf("it printed more than %d bytes and was stopped", s.maxDiscovery)
	case errors.Is(context.Cause(ctx), errTimeout) && (exit.Canceled || err != nil):
		text := fmt.Sprintf("it was not done after %v and was stopped", l.Shown())
		if l.Call != 0 {
			text += "; the plugin's start_timeout leaves it no more, raise that"
		}
		return nil, errors.New(text + quoted(stderr))
	case err != nil:
		return nil, errors.New(s.discovery.whyNot(err, s.workdir))
	case exit.Signal != 0:
		return nil, fmt.Errorf("it was ended by %s%s", exit.SignalName(), quoted(stderr))
	case exit.Code != 0:
		return nil, fmt.Errorf("it failed with exit code %d%s", exit.Code, quoted(stderr))
	}
	return stdout.kept, nil
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

// What a discovery command printed is read as JSON. Keys are compared exactly, as the format does.

// array returns the JSON array that was printed.
func array(printed []byte) (json.RawMessage, error) {
	for mark, order := range map[string]binary.ByteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian} {
		if bytes.HasPrefix(printed, []byte(mark)) && len(printed)%2 == 0 { // UTF-16, as PowerShell writes files
			units := make([]uint16, len(printed)/2)
			_, _ = binary.Decode(printed, order, units)
			printed = []byte(string(utf16.Decode(units)))
			break
		}
	}
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
	return rawjson.WellFormed(whole), nil
}

// otherOutput is the advice about an array that is not all that was printed, objects without one, and other encodings.
func otherOutput(text []byte, err error) string {
	more := strings.Contains(err.Error(), "after top-level value")
	switch {
	case bytes.IndexByte(text, 0) >= 0:
		return "; it has NUL bytes, as UTF-16 and UTF-32 have: print UTF-8, in PowerShell after " +
			"[Console]::OutputEncoding = [Text.UTF8Encoding]::new()"
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
