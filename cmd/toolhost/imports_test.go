package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/toolhost/toolhost"

// rules say what must never be imported, and why.
var rules = []struct {
	rooms  string // this package and those below it, "" for all
	except []string
	never  []string
	deep   bool // at any depth, not only directly
	why    string
}{
	{"sdk", nil, []string{module + "/host", hcl}, true, "third parties must not link the host"},
	{"plugins", nil, []string{module + "/host", module + "/plugins", module + "/cmd"}, true,
		"our plugins live by third-party rules, or the sdk is a lie"},
	{"plugins/edit/internal/match", nil, []string{module, "os", "io/fs"}, false,
		"where an edit belongs depends on bytes alone"},
	{"host", besideHost, []string{module + "/host/supervise", module + "/host/config", hcl}, true,
		"the route does not know how plugins run"},
	{"host", besideHost, []string{goPlugin, "os/exec"}, false, "the route does not know how plugins run"},
	{"", []string{"host/mcpserver", "plugins/mcp"}, []string{mcpSDK}, false, "embedders do not pay for it"},
	{"host", []string{"host/mcpserver"}, []string{module + "/host/mcpserver"}, true,
		"an agent that serves no MCP clients pays for none of it"},
	{"host/lockfile", nil, []string{module + "/host/config"}, true,
		"the configuration reads the lock file, not the other way round"},
	{"host/answers", nil, []string{module + "/host/config"}, true, "an embedder may keep answers without a configuration"},
	{"host", []string{"host/modelapi", "host/bootstrap", "host/server/configured"}, []string{module + "/host/modelapi", module + "/host/bootstrap"},
		true, "an agent with formats of its own pays for none of these"},
	{"cmd", nil, []string{module + "/host/lockfile", module + "/host/answers"}, false,
		"what a lock or an earlier answer lets run is decided where embedders get it too"},
	{"sdk/filenames", nil, []string{module, "os", "io/fs"}, false,
		"what a name tells depends on the name alone, for whoever asks"},
	{"host/server/console", nil, []string{foreign}, true, "pages and headers: what they show comes from the API"},
	{"host/server/internal/session", nil, []string{foreign}, true, "who may sign in is decided by what one can read in " +
		"one sitting"},
	{"host/policy", nil, []string{foreign}, true, "a decision depends on rules and query alone"},
	{"host/policy", nil, []string{"os", "io", "net", "time", "syscall", "path/filepath", "log", "embed", "math/rand",
		"crypto/rand", "testing"}, false,
		"a decision depends on rules and query alone"},
	{"host/supervise", nil, []string{module + "/host/config", module + "/cmd"}, true, "processes know nothing of rules"},
	{"internal/fsutil", nil, []string{foreign}, true, "who may change what runs is decided by what one can read in one " +
		"sitting"},
	{"host/supervise/sandbox", nil, []string{goPlugin, "google.golang.org/grpc"}, true,
		"what is asked for needs nothing of what runs plugins"},
	{"internal/launcher", nil, []string{foreign}, true, "it runs before most of a program is initialized"},
	{"internal/launcher", nil, []string{"strings"}, true,
		"packages are initialized by name, and this one would wait for all before the letter s"},
	{"host/audit", nil, []string{module + "/host", module + "/cmd"}, true, "the record can be checked without the host"},
	{"", []string{"host/history"}, []string{sqlite}, false, "one index of the record, which can be made again"},
	{"host", []string{"host/history"}, []string{module + "/host/history"}, true,
		"a host without a history pays for none of it"},
	{"", []string{"host/config", "host/internal/hclfile", "host/bootstrap"}, []string{hcl, "github.com/zclconf/go-cty"},
		false, "one reader of HCL, with bounds against hostile files"},
	{"", []string{"sdk", "internal/wire", "host/supervise", "internal/plugincheck", "host/api", "cmd/toolhost"},
		[]string{goPlugin, "google.golang.org/grpc"}, false, "one seam if the transport changes"},
	{"", []string{"host/api/apiv1/apiv1connect", "host/server", "host/history/historyservice", "cmd/toolhost-server",
		"internal/tools"}, []string{connect, module + "/host/server"}, false, "only a host that serves its API pays for it"},
	{"", []string{"host/telemetry", "cmd/toolhost-server", "internal/tools"}, []string{telemetrySDK,
		"go.opentelemetry.io/otel/exporters", "go.opentelemetry.io/contrib", "github.com/prometheus",
		module + "/host/telemetry"}, false, "only a long-lived host exports traces and metrics"},
	{"sdk", nil, []string{"go.opentelemetry.io"}, true, "a plugin gets its trace as text"},
	{"plugins", nil, []string{"go.opentelemetry.io"}, true, "a plugin gets its trace as text"},
	{"cmd/toolhost", nil, []string{connect, telemetrySDK, "github.com/prometheus", "modernc.org"}, true,
		"it starts with each call, and again as the launcher of each plugin"},
	{"", []string{"internal/wire/client", "host/supervise"}, []string{goPlugin}, false,
		"plugins speak its protocol and do not link it: they start sooner and are smaller"},
	{"sdk", []string{"sdk/sdktest"}, []string{goPlugin, "net/rpc"}, true,
		"a plugin links no server but gRPC's"},
	{"", []string{"internal/shellcmd"}, []string{shellParser}, false,
		"one reader of shell commands, whose doubts all share"},
	{"sdk", nil, []string{shellParser}, true, "a plugin links a shell parser only if it asks for one"},
	{"", []string{"internal/schema"}, []string{"github.com/kaptinlin/jsonschema"}, false,
		"one guarded door; plugins stay small"},
	{"sdk", []string{"sdk/sdktest"}, []string{module + "/internal/schema"}, true,
		"a plugin links no JSON Schema library; its tests may"},
	{"plugins", nil, []string{module + "/internal/schema"}, true, "a plugin links no JSON Schema library; its tests may"},
	{"sdk", []string{"sdk/sdktest"}, []string{module + "/internal/wire/client"}, true,
		"a plugin links no end of the wire but its own"},
	{"internal/wire", []string{"internal/wire/client"}, []string{module + "/sdk", module + "/host"}, true,
		"the protocol knows messages; each end converts its own types"},
	{"internal/schema", nil, []string{module + "/host", module + "/sdk", module + "/plugins", module + "/cmd", module +
		"/internal/wire"}, true, "both sides of the wire validate with it, so it knows neither"},
	{"", []string{"internal/pluginnew"}, []string{module + "/sdk/node", module + "/sdk/python"}, false,
		"only what writes new plugins carries the kits of other languages"},
	{"internal/pluginnew", nil, []string{module + "/host", "os/exec", "net"}, true, "it writes files, and starts nothing"},
	{"internal/redact", nil, []string{module + "/host", module + "/sdk", module + "/cmd", module + "/plugins"}, true,
		"it looks at nothing but the text"},
	{"internal/textutil", nil, []string{module}, true, "it looks at nothing but the text"},
	{"internal/lazy", nil, []string{foreign, "os", "io/fs"}, true, "every package may import it"},
	{"internal/procstat", nil, []string{foreign}, true, "the launcher imports it"},
	{"internal/gotrace", nil, []string{foreign}, true, "it looks at nothing but the text"},
	{"internal/idlemem", nil, []string{foreign}, true, "every plugin links it"},
	{"internal/callctx", nil, []string{foreign}, true, "contexts for both ends of the wire"},
	{"internal/rawjson", nil, []string{foreign}, true, "all ends of a bridge read JSON with it, so it knows none"},
	{"internal/mcpcontent", nil, []string{module + "/sdk", module + "/host", module + "/plugins", module + "/internal/wire"},
		true, "one reader of parts for both ends of the wire"},
}

const (
	hcl          = "github.com/hashicorp/hcl"
	goPlugin     = "github.com/hashicorp/go-plugin"
	mcpSDK       = "github.com/modelcontextprotocol/go-sdk"
	shellParser  = "mvdan.cc/sh"
	sqlite       = "modernc.org/sqlite"
	connect      = "connectrpc.com/connect"
	telemetrySDK = "go.opentelemetry.io/otel/sdk"
	foreign      = "..." // every package outside the standard library, ours too
)

// besideHost are packages in the folder of host that build on it.
var besideHost = []string{"host/supervise", "host/config", "host/lockfile", "host/answers", "host/internal/hclfile",
	"host/bootstrap", "host/server", "host/telemetry", "host/api/pluginstatus"}

type goPackage struct {
	ImportPath, Doc string
	Imports, Deps   []string
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		room := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		for _, r := range rules {
			if !within(room, r.rooms) || slices.ContainsFunc(r.except, func(e string) bool { return within(room, e) }) {
				continue
			}
			imports := p.Imports
			if r.deep {
				imports = p.Deps
			}
			for _, i := range imports {
				if forbidden(i, r.never, p.ImportPath) {
					t.Errorf("%s imports %s: %s", room, i, r.why)
				}
			}
		}
	}
}

// host/supervise must not import host itself; the prefix rule above would forbid its own subpackages.
func TestSuperviseDoesNotImportHost(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath != module+"/host/supervise" {
			continue
		}
		for _, i := range p.Deps {
			if i == module+"/host" {
				t.Error("host/supervise imports host: processes know nothing of the route")
			}
		}
	}
}

// decisions are functions that open, trust or record. A program that calls one makes a decision of host/bootstrap
// itself.
var decisions = map[string]string{
	"host.New": "bootstrap.Open", "supervise.New": "bootstrap.Open", "supervise.Find": "Configuration.Find",
	"policy.New":  "bootstrap.Open",
	"config.Load": "bootstrap.Load", "config.Parse": "bootstrap.Load", "config.LoadPolicy": "bootstrap.Open",
	"audit.Open":     "bootstrap.Open",
	"supervise.Lock": "Configuration.Find", "host.Options": "bootstrap.Options",
}

func TestCommandLineDecidesNoTrust(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is {
				if of, is := s.X.(*ast.Ident); is && decisions[of.Name+"."+s.Sel.Name] != "" {
					t.Errorf("%s uses %s.%s; embedders get that from %s, and so does the program", file, of.Name, s.Sel.Name,
						decisions[of.Name+"."+s.Sel.Name])
				}
			}
			return true
		})
	}
}

func TestEveryPackageIsDocumented(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func within(room, prefix string) bool {
	return prefix == "" || room == prefix || strings.HasPrefix(room, prefix+"/")
}

func forbidden(path string, never []string, own string) bool {
	if path == module+"/internal/lazy" || path == module+"/internal/procstat" { // rules say that they import no others
		return false
	}
	for _, n := range never {
		if path != own && !samePlugin(path, own) && (within(path, n) || n == foreign && isForeign(path)) {
			return true
		}
	}
	return false
}

// samePlugin reports whether both are parts of one of our plugins.
func samePlugin(a, b string) bool {
	prefix := module + "/plugins/"
	first, _, _ := strings.Cut(strings.TrimPrefix(a, prefix), "/")
	return strings.HasPrefix(a, prefix) && within(b, prefix+first)
}

// isForeign recognizes the standard library by its paths, which begin without a domain.
func isForeign(path string) bool {
	domain, _, _ := strings.Cut(path, "/")
	return strings.Contains(domain, ".")
}

func packages(t *testing.T) (out []goPackage) {
	t.Helper()
	list, err := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,Deps", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(list))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
}
