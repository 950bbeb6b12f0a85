package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A mistake is a usual one of authors, and what they read when they run the plugin and call its tool x: what is wrong,
// where, and what to do.
type mistake struct {
	name  string
	main  func() // of the plugin, or
	file  string // the content of its file
	mode  os.FileMode
	reads string // with LINE for the number of a line and FILE for the program
}

// died, refused and dies begin what an author reads of a plugin that ends.
const (
	died    = `plugin "greet" could not be started: exited with code `
	refused = died + `2 before the handshake. Last line on stderr: panic: sdk: `
	dies    = `E_PLUGIN_CRASHED PluginCrashed: plugin "greet" died during the call: exited with code `
	unknown = `. It is not known whether the call has done its work, or a part: check before you repeat it.` +
		"\n  The next call restarts the plugin.\n  See https://github.com/toolhost/toolhost/blob/main/docs/troubleshooting.md#" +
		"e_plugin_crashed"
	cannotRun = `plugin "greet" could not be started: FILE cannot be run: `
)

var inDefinitions = []mistake{
	{name: "the plugin's name has capitals and blanks", main: func() { sdk.New("My Plugin", "1.0.0") },
		reads: refused + `plugin name "My Plugin" must match ^[a-z][a-z0-9-]{0,31}$: lowercase letters, digits and -, such as ` +
			`"my-plugin" (mistakes_test.go:LINE)`},
	{name: "a tool's name has a dot", main: with[empty](toolNamed("get.weather")),
		reads: refused + `tool name "get.weather" must match ^[A-Za-z0-9][A-Za-z0-9_-]*$: letters, digits, _ and -, such as ` +
			`"get_weather" (mistakes_test.go:LINE)`},
	{name: "a tool's name has two underscores", main: with[empty](toolNamed("get__weather")),
		reads: refused + `tool name "get__weather" must not contain "__", which stands between plugin and tool, such as ` +
			`"get_weather" (mistakes_test.go:LINE)`},
	{name: "two tools have one name", main: with[empty](toolNamed("x"), toolNamed("x")),
		reads: refused + `tool "x" is there twice; rename one of them, or leave it out (mistakes_test.go:LINE)`},
	{name: "names differ by case", main: with[empty](toolNamed("getWeather"), toolNamed("getweather")),
		reads: refused + `tools "getWeather" and "getweather" have names that differ only by letter case; rename one of them ` +
			`(mistakes_test.go:LINE)`},
	{name: "no description", main: with[empty](sdk.Tool{Name: "x"}),
		reads: refused + `tool "x" has no description; models need one to choose it. Say what it does and when to use it ` +
			`(mistakes_test.go:LINE)`},
	{name: "a long description", main: with[empty](sdk.Tool{Name: "x", Description: strings.Repeat("long", 3000)}),
		reads: refused + `tool "x": the description has 12000 bytes; the limit is 8192. Say only what a model needs to choose the ` +
			`tool (mistakes_test.go:LINE)`},
	{name: "tags of another library", main: with[struct {
		Name string `json:"name" jsonschema:"required,description=Whom"`
	}](toolNamed("x")), reads: refused + `tool "x": Name: tag jsonschema: "required,description=Whom" is a list of keywords, but ` +
		`here the whole tag is the description; write jsonschema:"Whom"; a field without omitempty is required ` +
		`(mistakes_test.go:LINE)`},
	{name: "tags of a validator", main: with[struct {
		Name string `json:"name" validate:"required,min=1"`
	}](toolNamed("x")), reads: refused + `tool "x": Name: the tag validate is of another library, and neither host nor sdk ` +
		`reads it; write minLength:"1"; a field without omitempty is required (mistakes_test.go:LINE)`},
	{name: "a tag of another type", main: with[struct {
		Name string `json:"name" minimum:"1"`
	}](toolNamed("x")), reads: refused + `tool "x": Name: tag minimum: string is not a number; did you mean minLength? ` +
		`(mistakes_test.go:LINE)`},
	{name: "a tag with a typing error", main: with[struct {
		Name string `json:"name" minlength:"1"`
	}](toolNamed("x")), reads: refused + `tool "x": Name: the tag minlength is not used here; did you mean minLength? ` +
		`(mistakes_test.go:LINE)`},
	{name: "a default that the schema refuses", main: with[struct {
		Unit string `json:"unit,omitempty" enum:"C|F" default:"K"`
	}](toolNamed("x")), reads: refused + `tool "x": Unit: tag default: "K" is not one of the enum, "C", "F" ` +
		`(mistakes_test.go:LINE)`},
	{name: "arguments that are no struct", main: with[string](toolNamed("x")),
		reads: refused + `tool "x": string is not a struct; only structs have named fields. Make it a field of one ` +
			`(mistakes_test.go:LINE)`},
	{name: "fields with small letters", main: with[small](toolNamed("x")),
		reads: refused + `tool "x": main.small has no exported field, so encoding/json never fills it; begin the names of its ` +
			`fields with capitals (mistakes_test.go:LINE)`},
	{name: "a field without JSON", main: with[struct{ Done chan int }](toolNamed("x")),
		reads: refused + `tool "x": Done: chan int has no JSON Schema; use another type, or bring an InputSchema ` +
			`(mistakes_test.go:LINE)`},
	{name: "an interface without types", main: with[struct{ Shape sdk.OneOf[fmt.Stringer] }](toolNamed("x")),
		reads: refused + `tool "x": Shape: no types are registered for fmt.Stringer; call sdk.RegisterOneOf with them before ` +
			`sdk.AddTool (mistakes_test.go:LINE)`},
	{name: "no handler", main: func() { sdk.AddTool[empty, *sdk.Result](sdk.New("greet", "1"), toolNamed("x"), nil) },
		reads: refused + `tool "x" has no handler; pass the function that makes the call (mistakes_test.go:LINE)`},
	{name: "a result that is a text", main: func() {
		sdk.AddTool(sdk.New("greet", "1"), toolNamed("x"),
			func(context.Context, *sdk.Request, empty) (string, error) { return "", nil })
	}, reads: refused + `tool "x": the result: string is not an object in JSON; return a struct with it as a field, or ` +
		`*sdk.Result, such as sdk.Text of a text (mistakes_test.go:LINE)`},
	{name: "a schema that is no JSON", main: with[empty](withSchema(`{"type":`)),
		reads: refused + `tool "x": the input schema must be a JSON object such as {"type":"object"} (mistakes_test.go:LINE)`},
	{name: "a schema of a list", main: with[empty](withSchema(`{"type":"array"}`)),
		reads: refused + `tool "x": the input schema must have "type":"object", not "array"; make that a property of an object ` +
			`(mistakes_test.go:LINE)`},
	{name: "a schema with an unknown type", main: with[empty](withSchema(`{"properties":{"a":{"type":"text"}}}`)),
		reads: `plugin "greet": tool greet__x is left out: its input schema cannot be used: #/properties/a/type: unknown type ` +
			`"text"; known: array, boolean, integer, null, number, object, string; leave "type" out to allow anything`},
	{name: "a preview before its tool", main: func() {
		sdk.AddPreview(sdk.New("greet", "1"), "x",
			func(context.Context, *sdk.Request, empty) (*sdk.Preview, error) { return nil, errors.ErrUnsupported })
	}, reads: refused + `AddPreview: there is no tool "x"; add the tool before its preview (mistakes_test.go:LINE)`},
	{name: "two configurations", main: func() {
		p, take := sdk.New("greet", "1"), func(context.Context, *sdk.Request, empty) error { return nil }
		sdk.Configure(p, take)
		sdk.Configure(p, take)
	}, reads: refused + `Configure is called twice; the second would replace the first. Take all settings in one struct ` +
		`(mistakes_test.go:LINE)`},
}

var atTheStart = []mistake{
	{name: "no sdk.Serve", main: func() { sdk.New("greet", "1") },
		reads: died + `0 before the handshake: did it call the serve function of its kit?`},
	{name: "no tools", main: func() { sdk.Serve(sdk.New("greet", "1")) },
		reads: `plugin "greet": it has no tools; add some before it serves`},
	{name: "printing before sdk.Serve", main: func() { fmt.Println("starting up"); with[empty](toolNamed("x"))() },
		reads: `plugin "greet" could not be started: it printed "starting up" in place of the handshake: it is not a toolhost ` +
			`plugin, or prints on standard output before it serves; print on standard error`},
	{name: "os.Exit before sdk.Serve", main: func() { os.Exit(4) },
		reads: died + `4 before the handshake, and printed no reason on standard error; it must serve until the host ends it`},
	{name: "log.Fatal before sdk.Serve", main: func() { log.SetFlags(0); log.Fatal("the key is missing") },
		reads: died + `1 before the handshake. Last line on stderr: the key is missing`},
	{name: "a panic before sdk.Serve", main: func() { json.RawMessage(nil)[0] = 1 },
		reads: died + `2 before the handshake. Last line on stderr: panic: runtime error: index out of range [0] with length 0 ` +
			`(mistakes_test.go:LINE)`},
	{name: "another version of the protocol", main: func() { fmt.Println("1|2|unix|/tmp/plugin|grpc|"); select {} },
		reads: `it speaks version "2" of the plugin protocol, this host speaks version 1; update one of them`},
	{name: "go-plugin's other protocol", main: func() { fmt.Println("1|1|unix|/tmp/plugin|netrpc|"); select {} },
		reads: `plugin "greet" could not be started: it speaks "netrpc"; plugins must speak grpc`},
	{name: "listening on the network", main: func() { fmt.Println("1|1|tcp|127.0.0.1:9000|grpc|"); select {} },
		reads: `it listens on "tcp"; plugins must listen on a Unix socket in PLUGIN_UNIX_SOCKET_DIR`},
	{name: "a configuration that is refused", main: func() {
		p := sdk.New("greet", "1")
		sdk.Configure(p, func(context.Context, *sdk.Request, empty) error { return errors.New("GREET_KEY is not set") })
		sdk.Serve(p)
	}, reads: `plugin "greet" cannot be used: it refused its configuration: GREET_KEY is not set`},
	{name: "a configuration that panics", main: func() {
		p := sdk.New("greet", "1")
		sdk.Configure(p, func(context.Context, *sdk.Request, empty) error { panic("no key") })
		sdk.Serve(p)
	}, reads: `plugin "greet" cannot be used: it refused its configuration: the plugin's configuration panicked: no key ` +
		"(mistakes_test.go:LINE)\n  A program is run without configuration: "},
	{name: "a setting that is missing", main: func() {
		p := sdk.New("greet", "1")
		sdk.Configure(p, func(_ context.Context, _ *sdk.Request, c struct{ Key string }) error { return nil })
		sdk.Serve(p)
	}, reads: `plugin "greet" cannot be used: its configuration is wrong: required property "Key" is missing` +
		"\n  A program is run without configuration: write a block plugin \"greet\" with its command and config to config.hcl," +
		"\n  and run it by its name: toolhost plugin run greet"},
}

var inTools = []mistake{
	{name: "a panic", main: tool(func(context.Context) (*sdk.Result, error) { panic("no name") }),
		reads: "E_TOOL Panic: the tool x panicked: no name (mistakes_test.go:LINE)\n" +
			"  This is a bug in the plugin; other arguments may avoid it."},
	{name: "a nil pointer", main: tool(func(context.Context) (*sdk.Result, error) { var r *sdk.Result; return r.Add(), nil }),
		reads: "E_TOOL Panic: the tool x panicked: runtime error: invalid memory address or nil pointer dereference " +
			"(mistakes_test.go:LINE)"},
	{name: "a panic in a goroutine", main: tool(func(ctx context.Context) (*sdk.Result, error) {
		go func() { panic("in the background") }()
		<-ctx.Done()
		return nil, ctx.Err()
	}), reads: dies + `2. Last line on stderr: panic: in the background (mistakes_test.go:LINE)` + unknown},
	{name: "os.Exit", main: tool(func(context.Context) (*sdk.Result, error) { os.Exit(3); return sdk.Text(""), nil }),
		reads: dies + `3, and printed no reason on standard error; a tool must return an error, not end its process` + unknown},
	{name: "log.Fatal", main: tool(func(context.Context) (*sdk.Result, error) {
		log.SetFlags(0)
		log.Fatal("no such city")
		return sdk.Text(""), nil
	}), reads: dies + `1. Last line on stderr: no such city` + unknown},
	{name: "neither a result nor an error", main: tool(func(context.Context) (*sdk.Result, error) { return nil, nil }),
		reads: "E_TOOL NoResult: the tool x has run, but returned neither a result nor an error. It is not known whether the call " +
			"has done its work, or a part: check before you repeat it.\n  This is a bug in the plugin. Check what the call " +
			"has done before you repeat it."},
	{name: "a nil *sdk.Error as an error", main: tool(func(context.Context) (*sdk.Result, error) {
		var e *sdk.Error
		return nil, e
	}), reads: "E_TOOL NoResult: the tool x has run, but returned neither a result nor an error."},
	{name: "an error without a text", main: tool(func(context.Context) (*sdk.Result, error) { return nil, errors.New("") }),
		reads: "E_TOOL Error: the tool x failed with Error and no message\n  This is a bug in the plugin: its error needs a text."},
	{name: "blocking for ever", main: func() {
		p, t := sdk.New("greet", "1"), toolNamed("x")
		t.Timeout = 300 * time.Millisecond
		sdk.AddTool(p, t, func(context.Context, *sdk.Request, empty) (*sdk.Result, error) { select {} })
		sdk.Serve(p)
	},
		reads: "E_TIMEOUT Timeout: greet__x took longer than its limit of 300ms and was stopped. It is not known whether the " +
			"call has done its work, or a part: check before you repeat it.\n  Ask for less at once, or for a longer timeout."},
	{name: "a result of 5 MiB", main: tool(func(context.Context) (*sdk.Result, error) {
		return sdk.Text(strings.Repeat("large", 1<<20)), nil
	}), reads: " of 5242880 bytes are left out here; the whole is in /"},
	{name: "10 MB on standard error", main: tool(func(context.Context) (*sdk.Result, error) {
		fmt.Fprint(os.Stderr, strings.Repeat(strings.Repeat("x", 99)+"\n", 100_000)+"the disk is full\n")
		os.Exit(1)
		return sdk.Text(""), nil
	}), reads: ` | the disk is full` + unknown},
	{name: "a fatal error of the runtime", main: tool(func(context.Context) (*sdk.Result, error) {
		new(sync.Mutex).Unlock()
		return sdk.Text(""), nil
	}), reads: dies + `2. Last line on stderr: fatal error: sync: unlock of unlocked mutex (mistakes_test.go:LINE)` + unknown},
	{name: "a structured result that does not fit", main: func() {
		p := sdk.New("greet", "1")
		sdk.AddTool(p, toolNamed("x"), func(context.Context, *sdk.Request, empty) (bounded, error) { return bounded{4}, nil })
		sdk.Serve(p)
	}, reads: "E_PROTOCOL InvalidOutput: greet__x has run, but its structured result does not fit its output schema and is left " +
		"out: n: must be at most 3, got 4\n"},
	{name: "no structured result", main: func() {
		t := toolNamed("x")
		t.OutputSchema = json.RawMessage(`{"type":"object"}`)
		with[empty](t)()
	}, reads: "greet warn: the tool x has an output schema, but its result has nothing in Structured; return sdk.JSON(value), " +
		"or declare no OutputSchema"},
	{name: "printing in a tool", main: tool(func(context.Context) (*sdk.Result, error) {
		fmt.Println("got here")
		return sdk.Text("hi"), nil
	}), reads: "greet stdout: got here\n"},
}

var inFiles = []mistake{
	{name: "not executable", file: "#!/bin/sh\n", mode: 0o644,
		reads: `plugin "greet": FILE cannot be run: permission denied: it is not executable. Fix: chmod +x FILE`},
	{name: "an interpreter that is not there", file: "#!/no/such/python3\n",
		reads: cannotRun + `the interpreter of its #! line, /no/such/python3, does not exist; install it, or name another one`},
	{name: "no #! line", file: "import toolhost\n", reads: cannotRun + `it is a text with no #! line; begin it with one, such as ` +
		`"#!/usr/bin/env python3", or name the interpreter in command`},
	{name: "line ends of Windows", file: "#!/bin/sh\r\nexec x\r\n", reads: cannotRun + `its lines end with CR LF, as on Windows, ` +
		`so that its #! line names "/bin/sh\r"; save it with LF alone`},
	{name: "a byte order mark", file: "\xef\xbb\xbf#!/bin/sh\n", reads: cannotRun + `a byte order mark stands before its #! line; ` +
		`save it as UTF-8 without one`},
	{name: "another architecture", file: elfOf(elf.EM_S390, elf.ET_EXEC, binary.BigEndian),
		reads: cannotRun + `it was built for linux/s390x, this machine is ` + runtime.GOOS + "/" + runtime.GOARCH +
			`; build it with GOOS=` + runtime.GOOS + ` GOARCH=` + runtime.GOARCH},
	{name: "another system", file: "MZ" + strings.Repeat("\x00", 100),
		reads: cannotRun + `it was built for windows, this machine is ` + runtime.GOOS + "/" + runtime.GOARCH +
			`; build it with GOOS=`},
	{name: "a package that is not main", file: "!<arch>\n",
		reads: cannotRun + `it is an archive of compiled code, not a program; is its package main?`},
	{name: "an empty file", file: "", reads: cannotRun + `it is an empty file`},
	{name: "a program that is no plugin", file: "#!/bin/sh\necho hello\nsleep 60\n",
		reads: `it printed "hello" in place of the handshake: it is not a toolhost plugin, or prints on standard output before ` +
			`it serves; print on standard error`},
}

// elsewhere are mistakes that other tests show, since they take long, or need a configuration or a sandbox.
var elsewhere = map[string]string{
	"an sdk of an earlier or a later version":     "sdk/versions_test.go TestPluginsOfOtherVersions",
	"slow work before sdk.Serve":                  "host/supervise/hostile_test.go TestBadStarts",
	"a handler that ignores its context":          "sdk/calls_test.go TestOverdue",
	"a line of 1 MiB without an end":              "internal/plugincheck/plugincheck_test.go TestEachBrokenRuleIsFound",
	"a setting that the plugin does not know":     "host/supervise/start_test.go TestWrongConfiguration",
	"a config block for a plugin that takes none": "host/supervise/hostile_test.go TestConfigurationForAPluginThatTakesNone",
	"writing where the sandbox does not let it":   "host/supervise/sandbox_linux_test.go TestHint",
	"a program that others can change":            "host/supervise/verify_test.go TestWritableByOthers",
	"dying at every start":                        "host/supervise/hostile_test.go TestDyingAtEveryStart",
	"a program for another C library":             "host/supervise/diagnose_test.go TestProgramsThatCannotRun",
	"tests that the schema would refuse":          "sdk/sdktest/check_test.go TestRunValidatesAsAHostDoes",
	"a description that says nothing":             "internal/plugincheck/plugincheck_test.go TestEachBrokenRuleIsFound",
}

type (
	empty   struct{}
	small   struct{ name string } //nolint:unused // the mistake
	bounded struct {
		N int `json:"n" maximum:"3"`
	}
)

func toolNamed(name string) sdk.Tool {
	return sdk.Tool{Name: name, Description: "Greets a person by name."}
}

func withSchema(input string) sdk.Tool {
	t := toolNamed("x")
	t.InputSchema = json.RawMessage(input)
	return t
}

// with serves tools with these arguments.
func with[In any](tools ...sdk.Tool) func() {
	return func() {
		p := sdk.New("greet", "1")
		for _, t := range tools {
			sdk.AddTool(p, t, func(context.Context, *sdk.Request, In) (*sdk.Result, error) { return sdk.Text("hi"), nil })
		}
		sdk.Serve(p)
	}
}

// tool serves the tool x.
func tool(f func(context.Context) (*sdk.Result, error)) func() {
	return func() {
		p := sdk.New("greet", "1")
		sdk.AddTool(p, toolNamed("x"),
			func(ctx context.Context, _ *sdk.Request, _ empty) (*sdk.Result, error) { return f(ctx) })
		sdk.Serve(p)
	}
}

// elfOf is the head of a program for Linux.
func elfOf(machine elf.Machine, kind elf.Type, order binary.ByteOrder) string {
	var b bytes.Buffer
	b.Write([]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2MSB), 1, 9: 0, 15: 0})
	for _, v := range []any{uint16(kind), uint16(machine), uint32(1)} {
		_ = binary.Write(&b, order, v)
	}
	b.Write(make([]byte, 64-b.Len()))
	return b.String()
}

var mistakes = map[string][]mistake{"definitions": inDefinitions, "start": atTheStart, "tools": inTools, "files": inFiles}

// mistakeWord is the first argument of the test's program when it runs as a plugin with a mistake.
const mistakeWord = "serve-mistake"

// serveMistake is the main function of such a plugin.
func serveMistake(name string) {
	for _, m := range mistakes[filepath.Dir(name)] {
		if m.name == filepath.Base(name) {
			m.main()
			os.Exit(0)
		}
	}
	fmt.Fprintln(os.Stderr, "no mistake has the name", name)
	os.Exit(1)
}

var lineOfFile = regexp.MustCompile(`\.go:[0-9]+`)

// Each usual mistake of an author has an error that says what is wrong, where, and what to do.
func TestMistakesOfAuthors(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the messages are those of Linux")
	}
	t.Chdir(t.TempDir())
	for group, list := range mistakes {
		for _, m := range list {
			t.Run(group+"/"+m.name, func(t *testing.T) {
				program, args := os.Args[0], []string{"--", mistakeWord, group + "/" + m.name}
				if m.main == nil {
					program, args = filepath.Join(t.TempDir(), "greet"), nil
					if err := os.WriteFile(program, []byte(m.file), cmp.Or(m.mode, 0o755)); err != nil {
						t.Fatal(err)
					}
				}
				var out, errs bytes.Buffer
				run(append([]string{"plugin", "run", "--name", "greet", "--approve", "always", program}, args...),
					strings.NewReader("x {}\n"), &out, &errs)
				got := strings.ReplaceAll(out.String()+errs.String(), program, "FILE")
				if got = lineOfFile.ReplaceAllString(got, ".go:LINE"); !strings.Contains(got, m.reads) {
					t.Errorf("the author reads\n%swant\n%s", got, m.reads)
				}
				if strings.Count(errs.String(), "exited with code") > 1 || strings.Contains(got, "plugin crashed") ||
					strings.Contains(errs.String(), "it crashed\n") {
					t.Errorf("the author reads twice why it ended\n%s", got)
				}
			})
		}
	}
}

// The tests that show the other mistakes exist.
func TestMistakesElsewhere(t *testing.T) {
	for name, where := range elsewhere {
		file, test, _ := strings.Cut(where, " ")
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil || !bytes.Contains(text, []byte("\nfunc "+test+"(t *testing.T) {")) {
			t.Errorf("%s: there is no %s: %v", name, where, err)
		}
	}
}
