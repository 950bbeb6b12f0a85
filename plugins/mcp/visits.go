package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

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
	news chan struct{} // closed, and replaced, when there is another one
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
	if v.news != nil {
		close(v.news)
		v.news = nil
	}
}

// have reports whether all visits with these ids are completed, and returns what closes when another one is.
func (v *completedVisits) have(ids []string) (all bool, news <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.news == nil {
		v.news = make(chan struct{})
	}
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
	began, limit := time.Now(), time.NewTimer(min(visitTime, q.bridge.idleTimeout))
	defer limit.Stop()
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
		case <-limit.C:
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
