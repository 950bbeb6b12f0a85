package config

import (
	"maps"
	"net/url"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/internal/redact"
)

// Telemetry says where a long-lived host sends traces and metrics over OTLP. Variables such as
// OTEL_EXPORTER_OTLP_ENDPOINT take precedence.
type Telemetry struct {
	// Endpoint is the URL of the collector; "" sends nothing.
	Endpoint string
	// Protocol is one of TelemetryProtocols; "" is the first.
	Protocol string
	// Headers are sent with each export, such as a token.
	Headers map[string]string
	// SampleRatio is the part of the traces that are sent, from 0 to 1, of those whose caller has not decided; nil is all.
	SampleRatio *float64
	// Content adds arguments and results, without secrets, to traces.
	Content bool
}

// TelemetryProtocols are the forms of OTLP.
var TelemetryProtocols = []string{"http/protobuf", "grpc"}

// telemetry reads the telemetry block.
func (r *reader) telemetry(top *hclfile.Body) {
	b := top.Block("telemetry")
	if b == nil {
		return
	}
	in := top.Open(b, "telemetry")
	t := &Telemetry{Endpoint: in.Text("endpoint", checkEndpoint), Protocol: in.OneOf("protocol", TelemetryProtocols),
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
