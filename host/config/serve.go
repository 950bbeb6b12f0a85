package config

import (
	"context"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/internal/loopback"
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
	b := top.Block("serve")
	if b == nil {
		return
	}
	in := top.Open(b, "serve")
	s := &Serve{Address: in.Text("address", hclfile.CheckLine), Socket: r.resolvePath(in, "socket"),
		OnDemand: in.Bool("on_demand"), IdleTimeout: in.Duration("idle_timeout", maxIdle),
		Certificate: r.resolvePath(in, "tls_cert"), Key: r.resolvePath(in, "tls_key"), Source: in.Where()}
	s.Hosts, _ = in.Texts("hosts", hclfile.CheckLine)
	in.Needs("tls_cert", "tls_key", `"server.key"`)
	in.Needs("tls_key", "tls_cert", `"server.crt"`)
	warnAddress(in, s)
	names := hclfile.Names{}
	for _, b := range in.Blocks("token") {
		name, t := in.Named(b, hclfile.PluginNaming, names)
		one := ServeToken{Name: name, Value: t.Text("value", hclfile.CheckLine), Role: t.OneOf("role", serveRoles),
			Source: t.Where()}
		t.Require("value", "env.TOOLHOST_TOKEN")
		t.Require("role", `"viewer"`)
		refuseWrittenOut(t, "value", "TOOLHOST_TOKEN")
		t.Done()
		s.Tokens = append(s.Tokens, one)
	}
	in.Done()
	r.config.Serve = s
}
