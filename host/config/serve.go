package config

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/internal/loopback"
	"github.com/toolhost/toolhost/internal/redact"
)

// Serve is how `toolhost serve` serves the configuration.
type Serve struct {
	// Address is where HTTP is served; "" is the default.
	Address string
	// Socket is a Unix socket beside the one of the user's runtime folder; "" is none.
	Socket string
	// Hosts are names by which clients may reach the address, beside those of this machine.
	Hosts []string
	// Certificate and Key are the files for TLS; both are "" without.
	Certificate, Key string
	// OnDemand has commands start a host in the background when none is running.
	OnDemand bool
	// IdleTimeout is after how long without calls and clients a host in the background ends; zero is the default.
	IdleTimeout time.Duration
	// Tokens are who may use the address beside the user.
	Tokens []ServeToken
	// Refused means that `toolhost serve` refuses the address, about which there is a warning.
	Refused bool
	Source  string // of the block, such as "config.hcl:12"
}

// A ServeToken is someone who may use the API with a token.
type ServeToken struct {
	Name string
	// Value is the bearer token; "" when its reference has no value.
	Value string
	// Role is viewer, approver or operator.
	Role   string
	Source string // such as "config.hcl:12"
}

var serveRoles = []string{"viewer", "approver", "operator"}

// maxIdle is the longest idle_timeout.
const maxIdle = 30 * 24 * time.Hour

// warnAddress warns about an address that serve refuses. It is no mistake: commands do without a host.
func warnAddress(in *hclfile.Body, s *Serve) {
	if s.Address == "" {
		return
	}
	at := in.ExprOf("address").Range()
	host, port, err := loopback.Split(context.Background(), s.Address)
	switch {
	case err != nil:
		problem, hint, _ := strings.Cut(err.Error(), "; ")
		s.Refused = true
		in.Warn(at, "address %s", problem).Hint = hint
	case !loopback.Is(host) && !in.Given("tls_cert"):
		s.Refused = true
		in.Warn(at, "address can be reached from other machines, and is not served without TLS").
			WithHint("add tls_cert and tls_key, or listen on 127.0.0.1:%s", port)
	}
}

// serve reads the serve block.
func (r *reader) serve(top *hclfile.Body) {
	in := top.Inner("serve")
	if in == nil {
		return
	}
	s := &Serve{Address: in.Text("address", hclfile.CheckLine), Socket: r.resolvePath(in, "socket"),
		OnDemand: in.Bool("on_demand"), IdleTimeout: in.Duration("idle_timeout", maxIdle),
		Certificate: r.resolvePath(in, "tls_cert"), Key: r.resolvePath(in, "tls_key"), Source: in.Where()}
	s.Hosts, _ = in.Texts("hosts", hclfile.CheckLine)
	in.Needs("tls_cert", "tls_key", `"server.key"`)
	in.Needs("tls_key", "tls_cert", `"server.crt"`)
	warnAddress(in, s)
	for name, t := range in.Each("token", hclfile.PluginNaming) {
		one := ServeToken{Name: name, Value: t.Text("value", hclfile.CheckLine), Role: t.OneOf("role", serveRoles),
			Source: t.Where()}
		t.Require("value", "env.TOOLHOST_TOKEN")
		t.Require("role", `"viewer"`)
		refuseWrittenOut(t, "value", one.Value, "TOOLHOST_TOKEN")
		s.Tokens = append(s.Tokens, one)
	}
	in.Done()
	r.config.Serve = s
}

// An Identity is someone to whom `toolhost mcp --http` serves tools.
type Identity struct {
	Name string
	// Token is the bearer token of this identity; "" when its reference has no value.
	Token string
	// Profile names the profile whose tools it sees; "" is all tools.
	Profile string
	Source  string // such as "config.hcl:12"
}

// identities reads the mcp block, after the profiles.
func (r *reader) identities(top *hclfile.Body) {
	mcp := top.Inner("mcp")
	if mcp == nil {
		return
	}
	for name, in := range mcp.Each("identity", hclfile.PluginNaming) {
		i := Identity{Name: name, Token: in.Text("token", hclfile.CheckLine), Profile: in.Text("profile", hclfile.CheckLine),
			Source: in.Where()}
		in.Require("token", "env.MCP_TOKEN")
		refuseWrittenOut(in, "token", i.Token, "MCP_TOKEN")
		if _, ok := r.config.Profiles[i.Profile]; i.Profile != "" && !ok {
			known := slices.Sorted(maps.Keys(r.config.Profiles))
			in.Wrong(in.ExprOf("profile").Range(), "there is no profile %q", hclfile.Brief(i.Profile)).Hint =
				cmp.Or(hclfile.Suggest(i.Profile, known, "profiles"), "write one: profile "+strconv.Quote(i.Profile)+" { … }")
		}
		r.config.Identities = append(r.config.Identities, i)
	}
	mcp.Done()
}

// Telemetry says where a long-lived host sends traces and metrics over OTLP. Variables such as
// OTEL_EXPORTER_OTLP_ENDPOINT take precedence.
type Telemetry struct {
	// Endpoint is the URL of the collector; "" sends nothing.
	Endpoint string
	// Protocol is one of telemetryProtocols; "" is the first.
	Protocol string
	// Headers are sent with each export, such as a token.
	Headers map[string]string
	// SampleRatio is the part of the traces that are sent, from 0 to 1, of those whose caller has not decided; nil is all.
	SampleRatio *float64
	// Content adds arguments and results, without secrets, to traces.
	Content bool
}

// telemetryProtocols are the forms of OTLP.
var telemetryProtocols = []string{"http/protobuf", "grpc"}

// telemetry reads the telemetry block.
func (r *reader) telemetry(top *hclfile.Body) {
	in := top.Inner("telemetry")
	if in == nil {
		return
	}
	t := &Telemetry{Endpoint: in.Text("endpoint", checkEndpoint), Protocol: in.OneOf("protocol", telemetryProtocols),
		Headers: in.TextMap("headers", checkHeaderName, hclfile.CheckLine), Content: in.Bool("content"),
		SampleRatio: ratio(in, "sample_ratio")}
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		if e := itemOf(in, "headers", name); redact.Name(name) && e != nil && hclfile.Literal(e) {
			in.Wrong(e.Range(), "headers %q is written out", name).WithHint(
				"keep it in the environment, where this file's readers do not see it: headers = { %s = env.OTLP_TOKEN }", name)
		}
	}
	in.Done()
	r.config.Telemetry = t
}

// itemOf returns the expression of a member of an object that is written out, or nil.
func itemOf(in *hclfile.Body, name, key string) hclsyntax.Expression {
	object, ok := in.ExprOf(name).(*hclsyntax.ObjectConsExpr)
	if !ok {
		return nil
	}
	for _, item := range object.Items {
		if k, ok := hclfile.LiteralKey(item); ok && k == key {
			return item.ValueExpr
		}
	}
	return nil
}

func checkEndpoint(s string) (problem, hint string) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "is not a URL of http or https", `write one such as "http://127.0.0.1:4318"`
	}
	if u.User != nil {
		return "has a password", "use headers, with a value from the environment"
	}
	return "", ""
}

func checkHeaderName(s string) (problem, hint string) {
	for _, c := range s {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "is not the name of a header", `such a name has letters, digits and "-" only`
		}
	}
	if s == "" {
		return "is empty", "write the name of a header"
	}
	return "", ""
}

// ratio reads a number from 0 to 1, nil when there is none.
func ratio(in *hclfile.Body, name string) *float64 {
	const hint = "write a number from 0 to 1, such as 0.1"
	v, e := in.Typed(name, hclfile.NumberKind, func(cty.Value) string { return hint })
	if e == nil {
		return nil
	}
	n, _ := v.AsBigFloat().Float64()
	if n < 0 || n > 1 {
		in.Wrong(e.Range(), "%s must be a number from 0 to 1", name).WithHint(hint)
		return nil
	}
	return &n
}

// History says how much of the record a long-lived host keeps searchable. Zero keeps all.
type History struct {
	KeepFor   time.Duration
	KeepCalls int64
}

// history reads the history block.
func (r *reader) history(top *hclfile.Body) {
	in := top.Inner("history")
	if in == nil {
		return
	}
	r.config.History = History{KeepFor: time.Duration(in.Int("keep_days", 36_500)) * 24 * time.Hour,
		KeepCalls: int64(in.Int("keep_calls", 1_000_000_000))}
	in.Done()
	if top.Block("audit") == nil {
		top.Wrong(in.Header(), "there is a history block and no audit block").WithHint(
			"the history is made from the record, which `audit {}` has kept")
	}
}
