package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	consolesession "github.com/toolhost/toolhost/host/server/internal/session"
	"github.com/toolhost/toolhost/internal/netlimit"
)

const (
	mcpPath     = "/mcp"
	metricsPath = "/metrics"
	consolePath = "/console/"
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
	errorWriter := connect.NewErrorWriter()
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
			if err := Fail(rpc, "", message, hint); errorWriter.IsSupported(r) {
				_ = errorWriter.Write(w, r, err) // the client may be gone
			} else {
				http.Error(w, message, status)
			}
		}
		p, ctx, end, why := s.authorize(r)
		defer end()
		if why != nil {
			if why.status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			refuse(why.status, why.code, why.message, why.hint)
			return
		}
		r = r.WithContext(ctx)
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
		if s.handedOver.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		ctx = context.WithValue(ctx, principalKey{}, p)
		ctx = host.WithTraceParent(ctx, strings.Join(r.Header.Values("Traceparent"), ","),
			strings.Join(r.Header.Values("Tracestate"), ","))
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

// A refusal is why a request is not served.
type refusal struct {
	status        int
	code          connect.Code
	message, hint string
}

// authorize returns who makes a request, which must be for this host and from no page of another origin, and have the
// role that its path needs. The context ends when its token is revoked. Call end when the request is served.
func (s *Server) authorize(r *http.Request) (p principal, ctx context.Context, end func(), why *refusal) {
	ctx, end = r.Context(), func() {}
	if p.local = isLocal(ctx); p.local {
		p.role = Operator
	} else if why := s.foreign(r); why != "" {
		return p, ctx, end, &refusal{http.StatusForbidden, connect.CodePermissionDenied, why, ""}
	} else if token := s.authenticated(r); token != nil {
		p.role, p.name = token.Role, token.Name
		ctx, end = token.untilRevoked(ctx)
	}
	switch need := needed(r.URL.Path); {
	case p.role == "" && need != "":
		why = &refusal{http.StatusUnauthorized, connect.CodeUnauthenticated, "a valid token is needed",
			"Send the header Authorization: Bearer TOKEN; `toolhost serve --show-token` prints it."}
	case !p.role.may(need):
		why = &refusal{http.StatusForbidden, connect.CodePermissionDenied,
			fmt.Sprintf("this needs the role %s, and the token has the role %s", need, p.role), ""}
	}
	return p, ctx, end, why
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

// A Role says what a client may do. Each role may do what those before it may.
type Role string

// The roles, from low to high.
const (
	Viewer   Role = "viewer"   // reads
	Approver Role = "approver" // also answers approvals and questions
	Operator Role = "operator" // does everything
)

var roles = []Role{"", Viewer, Approver, Operator}

// may reports whether the role is at least another.
func (r Role) may(need Role) bool { return slices.Index(roles, r) >= slices.Index(roles, need) }

// Message is the role in the API.
func (r Role) Message() apiv1.Role { return apiv1.Role(max(slices.Index(roles, r), 0)) }

// MinToken is how many characters a token has at least.
const MinToken = 16

// A Token lets a client use the server over TCP.
type Token struct {
	// Name is for the record: calls are made for "api:NAME", or "api" without one.
	Name  string
	Value string
	Role  Role
}

// A validToken is one that lets clients in.
type validToken struct {
	Token
	revoked context.Context // ends when the token is replaced, changed or removed
	revoke  context.CancelFunc
}

// tokenList has the tokens in the form in which they are compared.
type tokenList struct {
	all    []validToken
	values []string
	hashes [][sha256.Size]byte
}

// SetTokens replaces the tokens: one that is gone or changed has no access from now on, and its streams and calls end.
// The error says which tokens are not valid: those are left out, and the others apply.
func (s *Server) SetTokens(all []Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, list := cmp.Or(s.tokens.Load(), &tokenList{}), &tokenList{}
	var invalid []error
	for _, t := range all {
		if err := list.check(t); err != nil {
			invalid = append(invalid, err)
			continue
		}
		v := validToken{Token: t}
		if i := slices.IndexFunc(old.all, func(o validToken) bool { return o.Token == t }); i >= 0 {
			v = old.all[i]
		} else {
			v.revoked, v.revoke = context.WithCancel(context.Background())
		}
		list.all = append(list.all, v)
		list.hashes = append(list.hashes, sha256.Sum256([]byte(t.Value)))
		list.values = append(list.values, t.Value)
	}
	s.tokens.Store(list)
	for _, o := range old.all {
		if !slices.ContainsFunc(list.all, func(v validToken) bool { return v.Token == o.Token }) {
			o.revoke()
		}
	}
	return errors.Join(invalid...)
}

// check says why a token cannot join the list.
func (l *tokenList) check(t Token) error {
	switch {
	case len(t.Value) < MinToken:
		return fmt.Errorf("server: the token %q has %d characters; it needs %d at least, such as those that `openssl rand "+
			"-hex 32` prints", t.Name, len(t.Value), MinToken)
	case t.Role == "" || !slices.Contains(roles, t.Role):
		return fmt.Errorf("server: the token %q has the role %q; it must be viewer, approver or operator", t.Name, t.Role)
	case slices.ContainsFunc(l.all, func(o validToken) bool { return o.Name == t.Name }):
		return fmt.Errorf("server: there are two tokens %q", t.Name)
	case slices.Contains(l.values, t.Value):
		return fmt.Errorf("server: the token %q has the value of another one", t.Name)
	}
	return nil
}

// errRevoked is the cause by which the requests of a token end that is no longer valid.
var errRevoked = errors.New("the token is no longer valid")

// untilRevoked returns a context for a request with the token. Call end when it is served.
func (t *validToken) untilRevoked(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(t.revoked, func() { cancel(errRevoked) })
	return ctx, func() {
		unlink()
		cancel(nil)
	}
}

// find compares in constant time.
func (l *tokenList) find(value string) *validToken {
	hash := sha256.Sum256([]byte(value))
	var found *validToken
	for i := range l.all {
		if subtle.ConstantTimeCompare(hash[:], l.hashes[i][:]) == 1 {
			found = &l.all[i]
		}
	}
	return found
}

// sessionPath exchanges a token for a session of the console: POST {"token": "…"}. DELETE ends it.
const sessionPath = "/session"

// authenticated returns the token of a request; nil for none, and for a wrong one.
func (s *Server) authenticated(r *http.Request) *validToken {
	list := s.tokens.Load()
	if given := r.Header.Get("Authorization"); given != "" {
		scheme, value, _ := strings.Cut(given, " ")
		if !strings.EqualFold(scheme, "bearer") {
			return nil
		}
		return list.find(strings.TrimSpace(value))
	}
	if i := consolesession.Find(r, list.values); i >= 0 {
		return &list.all[i]
	}
	return nil
}

func (s *Server) openSession(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	value, err := consolesession.ReadToken(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.tokens.Load().find(value) == nil {
		http.Error(w, "the token is not valid: open the address that `toolhost serve` prints", http.StatusUnauthorized)
		return
	}
	consolesession.Start(w, r, value)
}
