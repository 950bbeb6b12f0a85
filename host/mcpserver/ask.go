package mcpserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// callKey is the context key of the *toolCall that a host's question is about.
type callKey struct{}

// A toolCall is a call of a client while it runs.
type toolCall struct {
	e            *endpoint
	r            *request
	definition   string          // the hash of the tool's
	arguments    json.RawMessage // as the client sent them
	capabilities json.RawMessage // of the client
	state        *state          // of the question that the client answers; nil in a new call
	answers      map[string]json.RawMessage
	pending      *approvalQuestion // that the client is to be asked
	approved     bool              // a person has approved the call
	preview      string            // the hash of what that person was shown
	decision     string            // the hash of the decision that asks
	changed      bool              // the person has approved the call with another preview or for another decision
}

// clientAsker asks the client whose call caused the question.
type clientAsker struct{}

// Capabilities are those of no client: each call has its own.
func (clientAsker) Capabilities() json.RawMessage { return nil }

// AnswerInput passes the questions of a tool on to the client, one after the other.
func (clientAsker) AnswerInput(ctx context.Context, r *host.InputRequest) (map[string]json.RawMessage, error) {
	c, ok := ctx.Value(callKey{}).(*toolCall)
	if !ok || c.r.isModern() { // that answers by making its call again, not one that a plugin makes during it
		return nil, host.ErrNoApprover
	}
	if missing := c.undeclared(r.Requests); missing != "" {
		return nil, fmt.Errorf("this MCP client does not answer %s", missing)
	}
	answers := map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(r.Requests)) {
		q := parseQuestion(r.Requests[key])
		q.attribute(r.Tool.Name, r.Via)
		answer, err := c.ask(ctx, q)
		if _, refused := errors.AsType[*jsonrpc.Error](err); refused && q.method == methodElicit && ctx.Err() == nil {
			answer, err = dismissed, nil
		}
		if err != nil {
			return nil, err
		}
		answers[key] = answer
	}
	return answers, nil
}

// dismissed is the answer for a client that refuses to answer, such as one whose window was closed: no choice was made.
// The tool that asks may go on without it, and does not wait any more.
var dismissed = json.RawMessage(`{"action":"cancel"}`)

// A question is a request of MCP to a client.
type question struct {
	method string
	params json.RawMessage
}

func parseQuestion(raw json.RawMessage) question {
	all := rawjson.ObjectOf(raw)
	q := question{text(all.Get("method")), all.Get("params")}
	if rawjson.First(q.params) != '{' {
		q.params = json.RawMessage("{}")
	}
	return q
}

// attribute makes a question to a person say which tool asks it, so that it does not pass for one of another plugin, or
// for the approval of a call. Characters that cannot be seen are removed from it; all else keeps its bytes.
func (q *question) attribute(tool string, via *host.Via) {
	if q.method != methodElicit {
		return
	}
	who := "The tool " + tool + " asks"
	if via != nil {
		who += ", which plugin " + via.Plugin + " called"
	}
	var params rawjson.Object
	all, there := rawjson.ObjectOf(q.params), false
	for _, m := range all {
		if strings.EqualFold(m.Name, "message") {
			if there || m.Name != "message" { // a client could show it in place of the other
				continue
			}
			there = true
			message, _ := textutil.Visible(text(m.Value), -1)
			m.Value = sdk.Encode(who + ": " + message)
		}
		params.Add(m.Name, m.Value)
	}
	if !there {
		params.AddText("message", who+".")
	}
	q.params = params.JSON()
}

// attributed are the questions of a tool as they are sent to a client.
func attributed(requests map[string]json.RawMessage, tool string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for key, raw := range requests {
		q := parseQuestion(raw)
		q.attribute(tool, nil)
		if out[key] = raw; q.method == methodElicit {
			out[key] = withValue(raw, "params", q.params)
		}
	}
	return out
}

// The methods of questions.
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodRoots  = "roots/list"
)

// capability is the path in a client's capabilities that it must declare to be asked; nil for a question that no
// client answers.
func (q question) capability() []string {
	switch q.method {
	case methodElicit:
		if text(rawjson.ObjectOf(q.params).Get("mode")) == "url" {
			return []string{"elicitation", "url"}
		}
		return []string{"elicitation", "form"}
	case methodSample:
		return []string{"sampling"}
	case methodRoots:
		return []string{"roots"}
	}
	return nil
}

// declares reports whether the client declares that it answers the question.
func (c *toolCall) declares(q question) bool {
	path := q.capability()
	if path == nil {
		return false
	}
	declared := rawjson.ObjectOf(c.capabilities).Get(path[0])
	if rawjson.First(declared) != '{' || len(path) == 1 {
		return rawjson.First(declared) == '{'
	}
	modes := rawjson.ObjectOf(declared)
	if modes.Get("form") == nil && modes.Get("url") == nil {
		return path[1] == "form" // as before there were modes
	}
	return modes.Get(path[1]) != nil
}

// undeclared returns the method of a question that the client does not answer, "" when it answers all.
func (c *toolCall) undeclared(requests map[string]json.RawMessage) string {
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		if q := parseQuestion(requests[key]); !c.declares(q) {
			return fmt.Sprintf("%.100q", q.method)
		}
	}
	return ""
}

// paramsKey is the context key of the params of a question, byte for byte.
type paramsKey struct{}

// exactParams have the bytes that the maker of a question wrote.
type exactParams struct {
	*mcp.ElicitParams // for the methods of mcp.Params
	json              json.RawMessage
}

// MarshalJSON returns the bytes.
func (p *exactParams) MarshalJSON() ([]byte, error) { return p.json, nil }

// sendExact replaces the params of questions by the bytes that are in the context.
func sendExact(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		raw, ok := ctx.Value(paramsKey{}).(json.RawMessage)
		session, is := req.GetSession().(*mcp.ServerSession)
		if ok && is && (method == methodElicit || method == methodSample || method == methodRoots) {
			req = &mcp.ServerRequest[*exactParams]{Session: session, Params: &exactParams{&mcp.ElicitParams{}, raw}}
		}
		return next(ctx, method, req)
	}
}

// ask sends a question to a client of the handshake revisions, and returns its answer.
func (c *toolCall) ask(ctx context.Context, q question) (json.RawMessage, error) {
	ctx = context.WithValue(ctx, paramsKey{}, q.params)
	var answer mcp.Result
	var err error
	switch q.method {
	case methodElicit:
		// without a schema the SDK does not check the answer, of which it knows less than the tool
		answer, err = c.r.session.Elicit(ctx, &mcp.ElicitParams{Mode: q.capability()[1]})
	case methodSample:
		answer, err = c.r.session.CreateMessageWithTools(ctx, &mcp.CreateMessageWithToolsParams{}) //nolint:staticcheck // revisions before 2026-07-28 have it
	case methodRoots:
		answer, err = c.r.session.ListRoots(ctx, nil) //nolint:staticcheck // likewise
	default:
		err = fmt.Errorf("no client answers %.100q", q.method)
	}
	if err != nil {
		return nil, err
	}
	if exact, ok := answer.GetMeta()[answerKey].(string); ok {
		return json.RawMessage(exact), nil
	}
	return json.Marshal(answer) // of a JSON-RPC batch over HTTP
}

// answerKey is the member of _meta with the bytes of a client's answer.
const answerKey = "toolhost/answer"

// exactAnswer hides the result of a client's response in a result that the SDK's types of all questions can hold: of
// the real one they lose members that they do not know, and digits of integers over 2^53.
func exactAnswer(result json.RawMessage) json.RawMessage {
	if rawjson.First(result) != '{' {
		return result // which the SDK refuses
	}
	return json.RawMessage(`{"action":"cancel","role":"assistant","model":"","content":{"type":"text","text":""},` +
		`"roots":[],"_meta":{"` + answerKey + `":` + string(sdk.Encode(string(result))) + `}}`)
}

func (r *request) capabilities() json.RawMessage {
	if r.isModern() {
		return r.meta.Get(mcp.MetaKeyClientCapabilities)
	}
	init := r.session.InitializeParams()
	if init == nil || init.Capabilities == nil {
		return json.RawMessage("{}")
	}
	c := init.Capabilities
	var out rawjson.Object
	for _, m := range []struct {
		name string
		is   bool
		v    any
	}{{"experimental", c.Experimental != nil, c.Experimental}, {"extensions", c.Extensions != nil, c.Extensions},
		{"roots", c.RootsV2 != nil, c.RootsV2}, {"sampling", c.Sampling != nil, c.Sampling}, //nolint:staticcheck // likewise
		{"elicitation", c.Elicitation != nil, c.Elicitation}} {
		if raw, err := json.Marshal(m.v); m.is && err == nil {
			out.Add(m.name, raw)
		}
	}
	if len(out) == 0 {
		return json.RawMessage("{}")
	}
	return out.JSON()
}

// stateTime is how long a client may take to answer the questions of a tool.
const stateTime = time.Hour

// A state is the requestState that a client sends back with its answers. The client can read it, and cannot change it.
type state struct {
	Identity   string    `json:"i,omitempty"`
	Tool       string    `json:"t"`           // its full name
	Definition string    `json:"d"`           // the hash of it
	Arguments  string    `json:"a"`           // the hash of their exact bytes
	Preview    string    `json:"p,omitempty"` // the hash of what a person was shown
	Decision   string    `json:"e,omitempty"` // the hash of the decision that asks
	AnyPreview bool      `json:"v,omitempty"` // that person knows that the preview changes
	Approved   bool      `json:"y,omitempty"` // a person has approved the call
	Asks       bool      `json:"q,omitempty"` // the questions are whether to approve it
	Upstream   string    `json:"u,omitempty"` // the state of the tool's own questions
	Nonce      string    `json:"n"`
	Expires    time.Time `json:"x"`
}

// A seal makes states that only a server with the same key accepts, for one identity.
type seal struct {
	identity string
	key      []byte

	mu   sync.Mutex
	used map[string]time.Time // nonces of approvals that a call has run by, until they expire
}

func newSeal(key []byte, identity string) *seal {
	s := &seal{identity: identity, key: key, used: map[string]time.Time{}}
	s.key = s.mac("toolhost mcp", identity)
	return s
}

func (s *seal) mac(kind, text string) []byte {
	mac := hmac.New(sha256.New, s.key)
	_, _ = mac.Write([]byte(kind + "\x00" + text))
	return mac.Sum(nil)
}

func (s *seal) close(st state) string {
	st.Identity = s.identity
	raw, _ := json.Marshal(st) // a struct of plain fields
	text := base64.RawURLEncoding.EncodeToString(raw)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.mac("state", text))
}

// open returns the state in what a client sent, if it is one for this call.
func (s *seal) open(sent, tool, definition string, arguments []byte) (*state, error) {
	text, mac, _ := strings.Cut(sent, ".")
	given, err := base64.RawURLEncoding.DecodeString(mac)
	var st state
	switch raw, wrong := base64.RawURLEncoding.DecodeString(text); {
	case err != nil || wrong != nil || !hmac.Equal(given, s.mac("state", text)) || json.Unmarshal(raw, &st) != nil ||
		st.Identity != s.identity:
		return nil, badParams("requestState is not what this server gave: make the call again without it")
	case time.Now().After(st.Expires):
		return nil, badParams("requestState has expired: make the call again without it")
	case st.Tool != tool || st.Arguments != hashOf(arguments):
		return nil, badParams("requestState belongs to a call of another tool or with other arguments: make the call " +
			"again without it")
	case st.Definition != definition:
		return nil, badParams("the definition of %s has changed since the question: make the call again without "+
			"requestState", tool)
	}
	return &st, nil
}

// use reports whether an approval is used for the first time.
func (s *seal) use(st *state) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for nonce, expires := range s.used {
		if now.After(expires) {
			delete(s.used, nonce)
		}
	}
	if _, before := s.used[st.Nonce]; before {
		return false
	}
	s.used[st.Nonce] = st.Expires
	return true
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// definitionHash identifies the definition of a tool.
func definitionHash(t *host.Tool) string {
	_, hash := host.Definition(t.Tool)
	return hash
}
