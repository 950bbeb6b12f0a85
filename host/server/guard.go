package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/internal/netlimit"
)

const (
	mcpPath     = "/mcp"
	metricsPath = "/metrics"
	apiPrefix   = "/toolhost.api.v1."
)

// needs are the roles of methods that a viewer may not use.
var needs = map[string]Role{
	apiv1connect.HostServiceCallProcedure:            Operator,
	apiv1connect.HostServiceCallBatchProcedure:       Operator,
	apiv1connect.HostServiceCallOnceProcedure:        Operator,
	apiv1connect.HostServiceCancelCallProcedure:      Operator,
	apiv1connect.HostServicePreviewProcedure:         Operator,
	apiv1connect.HostServiceEndSessionProcedure:      Operator,
	apiv1connect.HostServiceStopProcedure:            Operator,
	apiv1connect.HostServiceUpgradeProcedure:         Operator,
	apiv1connect.ApprovalServiceAnswerProcedure:      Approver,
	apiv1connect.ApprovalServiceForgetProcedure:      Approver,
	apiv1connect.PluginServiceReloadProcedure:        Operator,
	apiv1connect.PluginServiceResetProcedure:         Operator,
	apiv1connect.ConfigurationServiceReloadProcedure: Operator,
	mcpPath: Operator,
}

// needed returns the role required for a path; "" means no token is required.
func needed(path string) Role {
	switch role, named := needs[path]; {
	case named:
		return role
	case strings.HasPrefix(path, apiPrefix), strings.HasPrefix(path, reflectionPrefix), path == metricsPath:
		return Viewer
	}
	return ""
}

// The bytes that the body of a request may have: of one for which no token is required, and of one that has neither
// arguments nor answers. Others have the limit of the server.
const (
	maxOpenBody  = 4 << 10
	maxSmallBody = 64 << 10
)

// large are the paths of requests whose bodies have arguments or answers.
var large = map[string]bool{
	apiv1connect.HostServiceCallProcedure:       true,
	apiv1connect.HostServiceCallBatchProcedure:  true,
	apiv1connect.HostServiceCallOnceProcedure:   true,
	apiv1connect.HostServicePreviewProcedure:    true,
	apiv1connect.ApprovalServiceAnswerProcedure: true,
	apiv1connect.PolicyServiceExplainProcedure:  true,
	mcpPath: true,
}

// maxBody is how many bytes the body of a request has at most.
func (s *Server) maxBody(path string) int64 {
	switch {
	case needed(path) == "":
		return maxOpenBody
	case large[path], strings.HasPrefix(path, reflectionPrefix): // a stream of small messages
		return s.limits.maxBody
	}
	return min(maxSmallBody, s.limits.maxBody)
}

// A principal is who makes a request.
type principal struct {
	role  Role
	name  string // of the token
	local bool   // the user, on the Unix socket
}

type principalKey struct{}

// who returns who makes the request of a context.
func who(ctx context.Context) principal {
	p, _ := ctx.Value(principalKey{}).(principal)
	return p
}

// key distinguishes principals for limits.
func (p principal) key() string {
	switch {
	case p.local:
		return "socket"
	case p.role == "":
		return "anyone"
	}
	return "token:" + p.name
}

// A share is what one principal may take of the server at once.
type share struct {
	connections int // of a listener, that serve requests
	load        netlimit.Limits
}

// share returns what a principal may take: no one can shut all others out of a listener, and who has no token takes
// little. The Unix socket has one principal alone.
func (s *Server) share(p principal) share {
	out := share{s.limits.connections, s.limits.load}
	switch {
	case p.local:
	case p.role == "":
		out.connections = max(s.limits.connections/20, 1)
		out.load.Requests = min(out.load.Requests, out.connections)
	default:
		out.connections = max(s.limits.connections/2, 1)
	}
	return out
}

// caller is who calls are made for.
func (p principal) caller() string {
	if p.name == "" {
		return "api"
	}
	return "api:" + p.name
}

// guard admits requests: for this host, from no page of another origin, with a token whose role suffices, within the
// limits. It bounds the time and the size of what clients send and read.
func (s *Server) guard(next http.Handler) http.Handler {
	refused := connect.NewErrorWriter()
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && !watches[r.URL.Path] {
			growStack(0)
		}
		body := s.limits.body
		if needed(r.URL.Path) == "" { // it is as small as a header, and may be anyone's
			body = min(body, s.limits.header)
		}
		w := netlimit.NewWriter(plain, r, body, s.limits.write)
		defer w.End()
		refuse := func(status int, rpc connect.Code, message, hint string) {
			w.Header().Set("Connection", "close")
			if err := fail(rpc, "", message, hint); refused.IsSupported(r) {
				_ = refused.Write(w, r, err) // the client may be gone
			} else {
				http.Error(w, message, status)
			}
		}
		p := principal{role: Operator, local: isLocal(r.Context())}
		if !p.local {
			if why := s.foreign(r); why != "" {
				refuse(http.StatusForbidden, connect.CodePermissionDenied, why, "")
				return
			}
			token := s.authenticated(r)
			p = principal{}
			if token != nil {
				p = principal{role: token.Role, name: token.Name}
				ctx, end := token.untilRevoked(r.Context())
				defer end()
				r = r.WithContext(ctx)
			}
		}
		switch need := needed(r.URL.Path); {
		case p.role == "" && need != "":
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(http.StatusUnauthorized, connect.CodeUnauthenticated, "a valid token is needed",
				"Send the header Authorization: Bearer TOKEN; `toolhost serve --show-token` prints it.")
			return
		case !p.role.may(need):
			refuse(http.StatusForbidden, connect.CodePermissionDenied,
				fmt.Sprintf("this needs the role %s, and the token has the role %s", need, p.role), "")
			return
		}
		share := s.share(p)
		done, ok := netlimit.Serving(r.Context(), p.key(), share.connections)
		if !ok {
			refuse(http.StatusServiceUnavailable, connect.CodeResourceExhausted,
				fmt.Sprintf("too many active connections; the limit is %d, and %d for one client", s.limits.connections,
					share.connections), "Retry later.")
			return
		}
		defer done()
		taken, ok := s.load.Begin(p.key(), &share.load)
		if !ok {
			refuse(http.StatusServiceUnavailable, connect.CodeResourceExhausted,
				fmt.Sprintf("too many requests of this client at once; the limit is %d", share.load.Requests), "Retry later.")
			return
		}
		defer taken.End()
		most := s.maxBody(r.URL.Path)
		if r.ContentLength > most {
			refuse(http.StatusRequestEntityTooLarge, connect.CodeResourceExhausted,
				fmt.Sprintf("the request body has %d bytes; the limit is %d bytes", r.ContentLength, most), "")
			return
		}
		r.Body = w.Body(taken.Reader(http.MaxBytesReader(w, r.Body, most)))
		if path := r.URL.Path; p.role != "" && needed(path) != "" && path != metricsPath {
			s.asked.Store(time.Now().UnixNano())
		}
		select {
		case <-s.leaving:
			w.Header().Set("Connection", "close")
		default:
		}
		ctx := context.WithValue(r.Context(), principalKey{}, p)
		ctx = host.WithTraceParent(ctx, r.Header.Get("Traceparent"), r.Header.Get("Tracestate"))
		if watches[r.URL.Path] {
			watching, done, refused := s.beginWatch(ctx, p)
			if refused != nil {
				refuse(http.StatusServiceUnavailable, refused.Code(), refused.Message(), "Close some, and open fewer.")
				return
			}
			defer done()
			ctx = watching
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// growStack makes the stack of the goroutine as large as a call needs. HTTP/2 has a new goroutine for each request: its
// stack would be copied at each doubling, each time with more frames, which took 5 to 8 % of a call's processor time.
//
//go:noinline
func growStack(i int) byte {
	var room [24 << 10]byte
	return room[i]
}

// foreign returns why a request over TCP is refused, "" if it is not: cross-origin pages, and host names that resolve
// here by DNS rebinding, must not use what the user may.
func (s *Server) foreign(r *http.Request) string {
	reached, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if named := reached != nil && r.Host == reached.String(); !named && !s.isHost(r.Host) { // no DNS names an address
		return fmt.Sprintf("this server is not %.200q: use the address that it printed, or name the host in the serve block",
			r.Host)
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) || u.Scheme != scheme(r) &&
			(u.Scheme != "https" || !s.isNamed(r.Host)) { // a proxy that the operator has named may speak TLS
			return crossOrigin
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	navigates := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && needed(r.URL.Path) == ""
	if (site == "cross-site" || site == "same-site") && !navigates {
		return crossOrigin
	}
	return ""
}

const crossOrigin = "cross-origin request refused: the page's origin is not this server; open the console at the " +
	"address that toolhost serve printed"

func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// isNamed reports whether the operator has named a host.
func (s *Server) isNamed(host string) bool {
	return slices.ContainsFunc(s.options.Hosts, func(n string) bool {
		name, _, err := net.SplitHostPort(host)
		return strings.EqualFold(n, host) || err == nil && strings.EqualFold(n, name)
	})
}

// isHost reports whether clients may reach the server by a name. A server that serves no listener of its own is reached
// by any.
func (s *Server) isHost(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hosts) == 0 || s.hosts[strings.ToLower(name)]
}
