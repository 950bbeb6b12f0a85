package approvals

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// A hook is a webhook that answers with the statuses of a list, and then with 200.
type hook struct {
	*httptest.Server
	bodies chan []byte
	header chan http.Header

	mu       sync.Mutex
	statuses []int
}

func newHook(t *testing.T, statuses ...int) *hook {
	h := &hook{bodies: make(chan []byte, 100), header: make(chan http.Header, 100), statuses: statuses}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.bodies <- body
		h.header <- r.Header
		h.mu.Lock()
		defer h.mu.Unlock()
		status := http.StatusOK
		if len(h.statuses) > 0 {
			status, h.statuses = h.statuses[0], h.statuses[1:]
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(h.Close)
	return h
}

func question(arguments string) *Question {
	r := request("call")
	r.Arguments = json.RawMessage(arguments)
	return &Question{ID: "q", Kind: KindCall, Call: r, Asked: time.Now()}
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	n := NewNotifier([]Target{{Name: "chat", URL: h.URL, Secret: "key"}}, NotifierOptions{
		Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[secret]") }})
	defer n.Close()
	n.Notify(question(`{"command":"login hunter2 ` + strings.Repeat("x", 9000) + `"}`))
	body, header := <-h.bodies, <-h.header
	var got Notice
	if err := json.Unmarshal(body, &got); err != nil || got.Event != "waiting" || got.Tool != "shell__exec" ||
		got.CallID != "call" || !strings.Contains(got.Arguments, "[secret]") || len(got.Arguments) > maxShown+100 {
		t.Errorf("%s, %v", body, err)
	}
	if bytes.Contains(body, []byte("hunter2")) {
		t.Errorf("a secret is sent: %s", body)
	}
	mac := hmac.New(sha256.New, []byte("key"))
	_, _ = mac.Write(body)
	if s := header.Get("X-Toolhost-Signature"); s != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
		t.Errorf("the signature is %q", s)
	}
	ended := question("{}")
	ended.Outcome = &Outcome{Result: Rejected, By: "console", Reason: "no"}
	n.Notify(ended)
	if body := <-h.bodies; !bytes.Contains(body, []byte(`"event":"ended"`)) ||
		!bytes.Contains(body, []byte(`"by":"console"`)) {
		t.Errorf("%s", body)
	}
}

// A webhook that fails by its own fault is tried again; a redirect, and a refusal, end it.
func TestWebhookAttempts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		statuses []int
		want     int
	}{
		"fails once": {[]int{500}, 2}, "fails always": {[]int{503, 503, 503, 503}, noticeAttempts},
		"refuses": {[]int{403}, 1}, "redirects": {[]int{307}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t, test.statuses...)
			n := NewNotifier([]Target{{URL: h.URL}}, NotifierOptions{})
			defer n.Close()
			n.Notify(question(`"first"`))
			n.Notify(question(`"second"`)) // is delivered when the first is done with
			attempts := 0
			for body := range h.bodies {
				if bytes.Contains(body, []byte("second")) {
					break
				}
				attempts++
			}
			if attempts != test.want {
				t.Errorf("%d attempts, want %d", attempts, test.want)
			}
		})
	}
}

// Targets that hang, and notices that no one takes, delay nobody.
func TestNotifyNeverWaits(t *testing.T) {
	t.Parallel()
	hanging := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-hanging
	}))
	defer server.Close()
	defer close(hanging)
	var log bytes.Buffer
	n := NewNotifier([]Target{{Name: "hangs", URL: server.URL}, {Name: "gone", URL: "http://127.0.0.1:1/"}},
		NotifierOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 10 * maxNotices {
		n.Notify(question("{}"))
	}
	n.Close()
	if !strings.Contains(log.String(), "dropped") {
		t.Errorf("nothing is said of dropped notices: %.300s", log.String())
	}
}

// Nobody is told of a question that is answered at once; of one that waits, both notices come, in order.
func TestQuestionsAnsweredAtOnceAreNotNotified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNotifier(nil, NotifierOptions{})
		seen := &backlog{waiting: make(chan *Question, maxNotices)}
		n.targets = append(n.targets, seen)
		ask := func(id string, wait time.Duration) {
			q := question("{}")
			q.ID = id
			n.Notify(q)
			time.Sleep(wait)
			after := *q
			after.Outcome = &Outcome{Result: Approved}
			n.Notify(&after)
		}
		ask("quick", firstPause-time.Millisecond)
		time.Sleep(firstPause)
		if len(seen.waiting) != 0 {
			t.Errorf("%d notices of a question that was answered at once", len(seen.waiting))
		}
		ask("slow", firstPause+time.Millisecond)
		if len(seen.waiting) != 2 {
			t.Fatalf("%d notices of a question that waited", len(seen.waiting))
		}
		if first, second := <-seen.waiting, <-seen.waiting; first.Outcome != nil || second.Outcome == nil {
			t.Error("the end comes first")
		}
		n.Close()
	})
}

// A notice names the rule, and shows the beginning of the preview without secrets.
func TestNoticeHasRuleRiskAndPreview(t *testing.T) {
	t.Parallel()
	n := NewNotifier(nil, NotifierOptions{Redact: func(text string) string {
		return strings.ReplaceAll(text, "hunter2", "[secret]")
	}})
	defer n.Close()
	q := question("{}")
	q.Call.Decision.Rule = "pushes"
	text := "pushes hunter2 " + strings.Repeat("x", 2*maxShown)
	q.Call.Preview = &sdk.Preview{Content: []sdk.Content{sdk.TextContent(text)}}
	q.Call.Tool.Hints.Destructive = sdk.Yes
	got := n.notice(q)
	if got.Rule != "pushes" || got.Risk != "high" || !strings.HasPrefix(got.Preview, "pushes [secret] x") || len(got.Preview) > maxShown {
		t.Errorf("%.100v", got)
	}
}

// What waits is delivered before the end.
func TestCloseDelivers(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	n := NewNotifier([]Target{{Name: "chat", URL: h.URL}}, NotifierOptions{})
	const all = 20
	for range all {
		n.Notify(question("{}"))
	}
	n.Close()
	if count := len(h.bodies); count != all {
		t.Errorf("%d of %d notices", count, all)
	}
}

// The queue tells of each question twice, with its outcome the second time.
func TestQueueNotifies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Result
		q := New(Options{Notify: func(one *Question) {
			if one.Outcome == nil {
				events = append(events, "")
				return
			}
			events = append(events, one.Outcome.Result)
		}})
		got := ask(t.Context(), q, request("c"))
		synctest.Wait()
		one := q.List()[0]
		if _, err := q.Answer(Answer{ID: one.ID, Hash: one.Hash, Call: host.Yes()}); err != nil {
			t.Fatal(err)
		}
		<-got
		if len(events) != 2 || events[0] != "" || events[1] != Approved {
			t.Errorf("%q", events)
		}
	})
}

// A log that hangs delays no question.
func TestLogThatHangs(t *testing.T) {
	t.Parallel()
	hanging, hung := make(chan struct{}), make(chan struct{}, 1)
	log := writer(func(p []byte) (int, error) {
		select {
		case hung <- struct{}{}:
		default:
		}
		<-hanging
		return len(p), nil
	})
	n := NewNotifier([]Target{{Name: "gone", Command: []string{"/none"}}},
		NotifierOptions{Logger: slog.New(slog.NewTextHandler(log, nil))})
	defer n.Close()
	defer close(hanging)
	n.Notify(question("{}")) // fails, and is logged
	<-hung
	for range 2 * maxNotices {
		n.Notify(question("{}"))
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestNoticeHidesWholeSecrets(t *testing.T) {
	t.Parallel()
	n := NewNotifier(nil, NotifierOptions{})
	defer n.Close()
	got := n.notice(question(`{"secret":["hunter2","hunter3"],"password":{"value":"hunter4"}}`))
	if strings.Contains(got.Arguments, "hunter") {
		t.Error(got.Arguments)
	}
}
