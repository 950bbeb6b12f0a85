// Package plugincheck tests a plugin in any language against the protocol (docs/protocol.md), item by item, as a host
// would meet it. It calls only the tools of the given calls: a plugin's tools may delete things.
package plugincheck

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// Options say what to check.
type Options struct {
	// Command is the program and its arguments. It is run in the current folder.
	Command []string
	// Config is the plugin's configuration, a JSON object; nil is {}.
	Config json.RawMessage
	// Workdir is a folder for the work folders of calls: each call has a new one, so that it can be made again.
	Workdir string
	// Timeout is how long a start, a call and an end may take each; zero is ten seconds.
	Timeout time.Duration
	// Examples must succeed; they are made many times, also in parallel. Each of the others is a call that shows one
	// behavior: Wait continues until it is canceled, Panic fails badly within the handler, Events sends very many
	// events, Large returns more than 256 KiB, Print prints a line of 1 MiB or more.
	Examples, Wait, Panic, Events, Large, Print []Call
	// Sandboxed makes the examples again at the sandbox levels confined and isolated.
	Sandboxed bool
}

// A Call is a tool and its arguments, a JSON object.
type Call struct {
	Tool      string
	Arguments json.RawMessage
}

// Status is how an item ended.
type Status string

// The statuses.
const (
	Pass Status = "pass"
	Warn Status = "warn" // it works, and could be better
	Fail Status = "fail"
	Skip Status = "skip" // it could not be checked; the message says what is missing
)

// A Finding is the outcome of one item.
type Finding struct {
	Item    string        `json:"item"`  // a word for programs
	Title   string        `json:"title"` // what must hold
	Status  Status        `json:"status"`
	Message string        `json:"message,omitempty"`
	Fix     string        `json:"fix,omitempty"` // what to do about it
	Took    time.Duration `json:"-"`
}

// A Report has a finding for each item, in order.
type Report struct {
	Plugin   string    `json:"plugin"` // name, version and kit, as the plugin says
	Findings []Finding `json:"findings"`
}

// Failed reports whether an item failed.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Status == Fail })
}

// An item is one thing that must hold. It returns what is wrong; nil is a pass.
type item struct {
	name, title string
	check       func(*checker, context.Context) *problem
}

// A problem is an item that does not pass.
type problem struct {
	status       Status
	message, fix string
}

func failed(fix, format string, a ...any) *problem {
	return &problem{Fail, fmt.Sprintf(format, a...), fix}
}

func warned(fix, format string, a ...any) *problem {
	return &problem{Warn, fmt.Sprintf(format, a...), fix}
}

func skipped(format string, a ...any) *problem { return &problem{Skip, fmt.Sprintf(format, a...), ""} }

// needed are the items without which the rest cannot be checked.
var needed = []string{"by_hand", "handshake", "describe", "configure"}

// items are all, in the order of a plugin's life.
var items = []item{
	{"by_hand", "says what it is when a person runs it, and exits with code 2", (*checker).byHand},
	{"handshake", "prints the handshake alone on its first line", (*checker).handshake},
	{"describe", "describes itself", (*checker).describe},
	{"token", "answers only requests with its token", running((*checker).token)},
	{"health", "answers health checks", running((*checker).health)},
	{"definitions", "has valid definitions and schemas", (*checker).definitions},
	{"descriptions", "describes each tool and each argument to models", (*checker).descriptions},
	{"vendors", "has definitions that each model vendor takes", (*checker).vendors},
	{"configure", "takes its configuration", (*checker).configure},
	{"unknown_tool", "refuses a tool that it does not have", running((*checker).unknownTool)},
	{"bad_arguments", "refuses arguments that are not JSON", given("calls that change nothing: --call",
		func(c *checker) []Call { return c.Examples }, (*checker).badArguments)},
	{"unknown_fields", "ignores fields of a later version", running((*checker).unknownFields)},
	{"large_arguments", "takes arguments of 1 MiB", running((*checker).largeArguments)},
	{"repeat", "does not run a repeated call again", running((*checker).repeat)},
	{"examples", "answers the example calls", given("calls that change nothing: --call",
		func(c *checker) []Call { return c.Examples }, (*checker).examples)},
	{"parallel", "answers 32 calls at once", running((*checker).parallel)},
	{"leftovers", "leaves nothing behind after 50 calls", running((*checker).leftovers)},
	{"cancel", "stops a canceled call within a second", given("a call that runs until it is canceled: --wait",
		func(c *checker) []Call { return c.Wait }, (*checker).cancel)},
	{"panic", "survives a handler that panics", given("a call whose handler fails badly: --panic",
		func(c *checker) []Call { return c.Panic }, (*checker).panics)},
	{"events", "survives a flood of events", given("a call that sends very many events: --events",
		func(c *checker) []Call { return c.Events }, (*checker).events)},
	{"large_result", "returns a large result whole", given("a call with a result of more than 256 KiB: --large",
		func(c *checker) []Call { return c.Large }, (*checker).largeResult)},
	{"long_line", "survives a log line of 1 MiB", given("a call that prints a line of 1 MiB: --print",
		func(c *checker) []Call { return c.Print }, (*checker).longLine)},
	{"sigterm", "ends at SIGTERM", running((*checker).sigterm)},
	{"host_death", "ends with its host, and leaves no process", running((*checker).hostDeath)},
	{"sandbox", "works at the sandbox levels confined and isolated", (*checker).sandboxed},
}

// running has an item check a process that answers.
func running(check func(*checker, context.Context, *process) *problem) func(*checker, context.Context) *problem {
	return func(c *checker, ctx context.Context) *problem {
		p, bad := c.running(ctx)
		if bad != nil {
			return bad
		}
		return check(c, ctx, p)
	}
}

// given is running for an item that needs calls. Without them it is skipped; missing says how to give them.
func given(missing string, calls func(*checker) []Call, check func(*checker, context.Context, *process) *problem) func(
	*checker, context.Context) *problem {
	return func(c *checker, ctx context.Context) *problem {
		if len(calls(c)) == 0 {
			return skipped("give %s 'TOOL {…}'", missing)
		}
		return running(check)(c, ctx)
	}
}

// Run checks a plugin. The error says that the check itself could not be made.
func Run(ctx context.Context, o Options) (*Report, error) { return run(ctx, o, items) }

func run(ctx context.Context, o Options, items []item) (*Report, error) {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	program, err := filepath.Abs(o.Command[0])
	if err != nil {
		return nil, err
	}
	o.Command = append([]string{program}, o.Command[1:]...)
	c := &checker{Options: o}
	defer c.stop()
	report := &Report{}
	broken := "" // the item without which the rest cannot be checked
	for _, i := range items {
		f := Finding{Item: i.name, Title: i.title, Status: Pass}
		started := time.Now()
		var p *problem
		if broken != "" {
			p = skipped("and all that follow: the item %s has to pass first", broken)
		} else {
			p = i.check(c, ctx)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f.Took = time.Since(started)
		if p != nil {
			f.Status, f.Message, f.Fix = p.status, p.message, p.fix
		}
		if f.Status == Fail && slices.Contains(needed, i.name) {
			broken = i.name
		}
		if (f.Status == Fail || f.Status == Warn) && c.process != nil && c.process.stopped() { // or each item takes its time
			broken, f.Status, f.Fix = i.name, Fail, stoppedFix
			f.Message = "it was stopped by a signal, such as SIGSTOP, and does nothing more; " + f.Message
		}
		report.Findings = append(report.Findings, f)
	}
	if d := c.description; d != nil {
		report.Plugin = fmt.Sprintf("%s %s (%s)", d.Name, d.Version, d.SDK)
	}
	return report, nil
}

// newWorkdir makes the work folder of a call.
func (c *checker) newWorkdir() (string, error) { return os.MkdirTemp(c.Workdir, "call-") }

// A checker is one run: the plugin's present process, and what it has said.
type checker struct {
	Options
	process      *process
	description  *sdk.Description
	examplesFail bool
}

// running returns a process of the plugin that is configured and answers, starting one if the last has ended.
func (c *checker) running(ctx context.Context) (*process, *problem) {
	if c.process != nil && !c.process.exited() {
		return c.process, nil
	}
	c.stop()
	p, err := start(ctx, c.Options)
	if err != nil {
		return nil, failed("An earlier item may say why it ended.", "it does not start again: %v", err)
	}
	c.process = p
	if c.description != nil && len(c.description.ConfigSchema) > 0 {
		if err := c.sendConfig(ctx, p); err != nil {
			return nil, failed("", "it refuses its configuration at the second start: %v", err)
		}
	}
	return p, nil
}

func (c *checker) stop() {
	if c.process != nil {
		c.process.kill()
		c.process = nil
	}
}

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	counts := map[Status]int{}
	if r.Plugin != "" {
		fmt.Fprintf(&b, "%s\n\n", visible(r.Plugin))
	}
	for i, f := range r.Findings {
		counts[f.Status]++
		if f.Status == Skip && i > 0 && r.Findings[i-1].Message == f.Message { // for the same reason
			continue
		}
		fmt.Fprintf(&b, "%-4s  %s", f.Status, f.Title)
		if f.Took >= 100*time.Millisecond {
			fmt.Fprintf(&b, " (%.1f s)", f.Took.Seconds())
		}
		b.WriteByte('\n')
		if f.Message != "" {
			fmt.Fprintf(&b, "      %s\n", strings.ReplaceAll(visible(f.Message), "\n", "\n      "))
		}
		if f.Fix != "" && f.Status != Pass {
			fmt.Fprintf(&b, "      Fix: %s\n", f.Fix)
		}
	}
	fmt.Fprintf(&b, "\n%d passed, %d failed, %s, %d skipped\n", counts[Pass], counts[Fail],
		textutil.Count(counts[Warn], "warning"), counts[Skip])
	_, err := io.WriteString(w, b.String())
	return err
}

// JUnit writes the report as the XML that CI systems read: a warning is a test case that passes, with its text.
func (r *Report) JUnit(w io.Writer) error {
	type text struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testcase struct {
		Name    string  `xml:"name,attr"`
		Class   string  `xml:"classname,attr"`
		Seconds string  `xml:"time,attr"`
		Failure *text   `xml:"failure"`
		Skipped *text   `xml:"skipped"`
		Out     *string `xml:"system-out"`
	}
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testcase `xml:"testcase"`
	}{Name: "toolhost plugin check", Tests: len(r.Findings)}
	for _, f := range r.Findings {
		c := testcase{Name: f.Title, Class: "plugin." + f.Item, Seconds: fmt.Sprintf("%.3f", f.Took.Seconds())}
		switch message := visible(f.Message); f.Status {
		case Fail:
			suite.Failures++
			c.Failure = &text{message, f.Fix}
		case Skip:
			suite.Skipped++
			c.Skipped = &text{Message: message}
		case Warn:
			out := message + "\n" + f.Fix
			c.Out = &out
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
