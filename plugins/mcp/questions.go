package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// sessionCapabilities are what servers with a handshake receive. Whether the caller of a call can be asked turns out
// when the server asks.
var sessionCapabilities = json.RawMessage(`{"roots":{},"elicitation":{"form":{},"url":{}},"sampling":{}}`)

const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodRoots  = "roots/list"
)

// codeURLElicitation is the error of a tool that needs a person to visit an address first.
const codeURLElicitation = -32042

// answerable reports whether a caller with these capabilities can be asked a question.
func answerable(capabilities json.RawMessage, method string, params json.RawMessage) bool {
	switch method {
	case methodSample:
		return rawjson.First(memberOf(capabilities, "sampling")) == '{'
	case methodElicit:
		elicitation := memberOf(capabilities, "elicitation")
		if mode, _ := text(memberOf(params, "mode")); mode == "url" {
			return memberOf(elicitation, "url") != nil
		}
		// An empty object is that of a client from before there were modes.
		return rawjson.First(elicitation) == '{' &&
			(memberOf(elicitation, "form") != nil || memberOf(elicitation, "url") == nil)
	}
	return false
}

// mayAsk reports whether the caller can be asked anything at all.
func (q *toolRequest) mayAsk() bool {
	all := rawjson.ObjectOf(q.request.Capabilities)
	return all.Get("elicitation") != nil || all.Get("sampling") != nil
}

// roots is the answer to roots/list: the work folder, whatever roots the caller has. A server keeps the roots that it
// was given, and one process serves all callers of a folder: they would widen each other's. What a caller calls a root
// may also be on another machine.
func roots(workdir string) json.RawMessage {
	path := filepath.ToSlash(workdir)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // of Windows
	}
	u := url.URL{Scheme: "file", Path: path}
	list := []map[string]string{{"uri": u.String(), "name": filepath.Base(workdir)}}
	return rawjson.Object{{Name: "roots", Value: sdk.Encode(list)}}.JSON()
}

func refuseQuestion(method string) *client.RPCError {
	switch method {
	case methodElicit:
		return &client.RPCError{Code: client.CodeInvalidRequest,
			Message: "elicitation/create is refused: the caller of this tool has no one who could answer a question"}
	case methodSample:
		return &client.RPCError{Code: client.CodeInvalidRequest,
			Message: "sampling/createMessage is refused: the caller of this tool offers no model"}
	}
	return &client.RPCError{Code: client.CodeMethodNotFound,
		Message: fmt.Sprintf("this client does not answer %.60q", method)}
}

// The state of a call that has questions says how it continues.
const (
	serverState = "server:" // the server gets the rest back
	callState   = "call:"   // the call with this id is suspended
	againState  = "again:"  // the call is made once more, after the visits with these ids
)

// A passedState is the state of a server that asks by returning questions.
type passedState struct {
	State string   `json:"state,omitempty"`
	Roots []string `json:"roots,omitempty"` // keys of the questions that the plugin answers itself
}

func (s passedState) String() string { return serverState + string(sdk.Encode(s)) }

func (q *toolRequest) resume(ctx context.Context) (*sdk.Result, error) {
	state := q.request.RequestState
	if id, ok := strings.CutPrefix(state, callState); ok {
		return q.resumeSuspended(ctx, id)
	}
	if q.request.DuringQuestions {
		return nil, unknownState() // nothing waits for the answers to other questions
	}
	if rest, ok := strings.CutPrefix(state, serverState); ok {
		var passed passedState
		if json.Unmarshal([]byte(rest), &passed) == nil {
			q.answers(passed, q.request.InputResponses)
			return q.start(ctx)
		}
	}
	if rest, ok := strings.CutPrefix(state, againState); ok {
		var ids []string
		if json.Unmarshal([]byte(rest), &ids) == nil {
			return q.afterVisits(ctx, ids)
		}
	}
	return nil, unknownState()
}

func unknownState() error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "UnknownState", Message: "the state that came with the " +
		"answers is none of this tool's; nothing was run", Suggestion: "Make the call without answers and state."}
}

// answers adds the answers and the state to the request's parameters.
func (q *toolRequest) answers(passed passedState, responses map[string]json.RawMessage) {
	all := map[string]json.RawMessage{}
	for _, key := range passed.Roots {
		all[key] = roots(q.workdir())
	}
	for key, response := range responses {
		if json.Valid(response) {
			all[key] = response
		}
	}
	var list rawjson.Object
	for key, response := range all {
		list.Add(key, response)
	}
	slices.SortFunc(list, func(a, b rawjson.Member) int { return strings.Compare(a.Name, b.Name) })
	q.params = q.params.Without("inputResponses", "requestState")
	if list != nil {
		q.params.Add("inputResponses", list.JSON())
	}
	if passed.State != "" {
		q.params.Add("requestState", sdk.Encode(passed.State))
	}
}

// maxRounds is how often in a row a server may ask for the roots alone.
const maxRounds = 10

// callModern makes a request of a server that asks by returning questions. Those for the roots the plugin answers
// itself.
func (q *toolRequest) callModern(ctx context.Context) (*sdk.Result, error) {
	for range maxRounds {
		raw, err := q.call(ctx, nil)
		if err != nil {
			return q.failure(err)
		}
		reply, err := q.reply(raw)
		if err != nil || !reply.asking {
			return reply.result, err
		}
		passed := passedState{State: reply.state}
		rest := map[string]json.RawMessage{}
		for key, question := range reply.asks {
			if method, _ := text(memberOf(question, "method")); method == methodRoots {
				passed.Roots = append(passed.Roots, key)
			} else {
				rest[key] = question
			}
		}
		slices.Sort(passed.Roots)
		if len(rest) > 0 || len(passed.Roots) == 0 {
			reply.result.InputRequired = &sdk.InputRequired{Requests: rest, State: passed.String()}
			return reply.result, nil
		}
		q.answers(passed, nil)
	}
	return nil, badResult(q, fmt.Errorf("it asked for the roots %d times in a row", maxRounds))
}

// capabilities are what the server learns of the caller.
func (q *toolRequest) capabilities() json.RawMessage {
	all := rawjson.ObjectOf(q.request.Capabilities).Without("roots")
	all.Add("roots", json.RawMessage("{}"))
	return all.JSON()
}

func questionJSON(method string, params json.RawMessage) json.RawMessage {
	return rawjson.Object{{Name: "method", Value: sdk.Encode(method)}, {Name: "params", Value: params}}.JSON()
}

// A server with a handshake refuses a call with an error until a person has visited an address. The person accepts when
// the address is opened, not when all is done there: the server notifies of that, with the id of the visit.

const (
	// visitTime is how long a call waits until a visit is completed. It is idle_timeout if that is shorter.
	visitTime = 2 * time.Minute
	// maxCompleted is how many visits are remembered as completed.
	maxCompleted = 1000
	// maxVisitID bounds the id of a visit, in bytes.
	maxVisitID = 1000
)

// completedVisits are those that a server notified of. A notification may come before anyone waits for it.
type completedVisits struct {
	mu   sync.Mutex
	ids  []string      // the newest last
	news chan struct{} // closed, and replaced, when there is another one; made with the upstream
}

func (v *completedVisits) add(id string) {
	if len(id) > maxVisitID {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ids = append(v.ids, id)
	if len(v.ids) > maxCompleted {
		v.ids = slices.Delete(v.ids, 0, len(v.ids)-maxCompleted)
	}
	close(v.news)
	v.news = make(chan struct{})
}

// have reports whether all visits with these ids are completed, and returns what closes when another one is.
func (v *completedVisits) have(ids []string) (all bool, news <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return isSubset(ids, v.ids), v.news
}

// The visits of a call are those that a person has accepted.
type visits struct {
	ids       []string
	completed bool // the server has notified of all
}

// urlQuestions are the addresses that an error asks a person to visit, as questions, and the ids of the visits; nil if
// it does not, or the caller cannot be asked that.
func (q *toolRequest) urlQuestions(e *client.RPCError) (asks map[string]json.RawMessage, ids []string) {
	list, _ := items(memberOf(e.Data, "elicitations"))
	if e.Code != codeURLElicitation || len(list) == 0 {
		return nil, nil
	}
	asks = map[string]json.RawMessage{}
	for i, params := range list {
		if !answerable(q.request.Capabilities, methodElicit, params) {
			return nil, nil
		}
		asks[fmt.Sprintf("url-%d", i+1)] = questionJSON(methodElicit, params)
		if id, is := text(memberOf(params, "elicitationId")); is {
			ids = append(ids, id)
		}
	}
	return asks, ids
}

// askToVisit asks the caller to have addresses visited, and to make the call again. A person who has accepted that is
// not asked for the same visits again: nothing would be different the next time.
func (q *toolRequest) askToVisit(asks map[string]json.RawMessage, ids []string) (*sdk.Result, error) {
	if v := q.visits; v != nil && (!v.completed || isSubset(ids, v.ids)) {
		return nil, &sdk.Error{Name: "VisitNotCompleted", Retryable: true, Message: fmt.Sprintf("%s still waits for a "+
			"person to finish what begins at the address that was shown; nothing was run", q.bridge.who()),
			Suggestion: "Ask the user to finish it in the browser. Then make the call again."}
	}
	return &sdk.Result{InputRequired: &sdk.InputRequired{Requests: asks,
		State: againState + string(sdk.Encode(ids))}}, nil
}

func isSubset(some, of []string) bool {
	return !slices.ContainsFunc(some, func(id string) bool { return !slices.Contains(of, id) })
}

// afterVisits makes a call again whose caller was asked to have addresses visited, when the server says that all is
// done there. Servers need not say so: after some time the call is tried once more all the same.
func (q *toolRequest) afterVisits(ctx context.Context, ids []string) (*sdk.Result, error) {
	for _, response := range q.request.InputResponses {
		if action, _ := text(memberOf(response, "action")); action != "accept" {
			return nil, &sdk.Error{Name: "QuestionDeclined", Message: "the input that the tool requires was declined; " +
				"nothing was run"}
		}
	}
	completed, err := q.awaitVisits(ctx, ids)
	if err != nil {
		return nil, err
	}
	q.visits = &visits{ids, completed}
	return q.start(ctx)
}

// awaitVisits waits until visits are completed, for a limited time, and reports whether they are.
func (q *toolRequest) awaitVisits(ctx context.Context, ids []string) (completed bool, err error) {
	if len(ids) == 0 {
		return true, nil // there is nothing to wait for
	}
	u, err := q.bridge.upstreams.use(q.workdir())
	if err != nil {
		return false, err
	}
	defer u.release()
	session, err := u.connected(ctx, nil)
	if err != nil {
		return false, unavailable(ctx, err)
	}
	began, limit := time.Now(), time.After(min(visitTime, q.bridge.idleTimeout))
	tick := time.NewTicker(stillStarting)
	defer tick.Stop()
	for told := false; ; told = true {
		all, news := u.completed.have(ids)
		if all {
			return true, nil
		}
		if since := time.Since(began); !told || since >= stillStarting {
			q.request.Progress(since.Seconds(), 0, "waiting until it is finished in the browser (%s)",
				since.Round(time.Second))
		}
		select {
		case <-news:
		case <-tick.C:
		case <-limit:
			return false, nil
		case <-session.Done(): // nothing comes from it any more
			return false, nil
		case <-ctx.Done():
			e := sdk.EndedError(ctx)
			e.Message = "the call ended before it was finished in the browser; nothing was run"
			return false, e
		}
	}
}
