package approvals

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A Target receives a Notice when a question begins to wait, and when it ends: a webhook, or a command.
type Target struct {
	// Name is for the log.
	Name string
	// URL gets a POST with a Notice as JSON. Redirects are not followed.
	URL string
	// Secret, if not empty, signs each POST: the header X-Toolhost-Signature is "sha256=" and the HMAC-SHA256 of the body
	// in hexadecimal digits.
	Secret string
	// Command gets a Notice as one line of JSON on standard input. It runs without a shell, and ends with all that it has
	// started.
	Command []string
}

// A Notice is what a Target gets. It names no secret: what looks like one is replaced.
type Notice struct {
	// Event is "waiting" or "ended".
	Event   string `json:"event"`
	ID      string `json:"id"`
	Kind    Kind   `json:"kind"`
	CallID  string `json:"call_id"`
	Tool    string `json:"tool"`
	Caller  string `json:"caller,omitempty"`
	Session string `json:"session,omitempty"`
	Workdir string `json:"workdir,omitempty"`
	// Effect and Reason are those of the decision, Arguments the beginning of the call's.
	Effect    string `json:"effect,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Rule is the name of the rule that decided, Risk how much is at stake, Preview the beginning of what the plugin says
	// that the call would do.
	Rule    string     `json:"rule,omitempty"`
	Risk    string     `json:"risk,omitempty"`
	Preview string     `json:"preview,omitempty"`
	Asked   time.Time  `json:"asked"`
	Expires *time.Time `json:"expires,omitempty"`
	// Result, By and Why are those of the outcome.
	Result Result `json:"result,omitempty"`
	By     string `json:"by,omitempty"`
	Why    string `json:"why,omitempty"`
}

const (
	maxNotices     = 256  // that wait for one target; more are dropped
	maxShown       = 4096 // bytes of the arguments in a notice
	noticeTimeout  = 10 * time.Second
	noticeAttempts = 3
	noticePause    = 2 * time.Second // before the second attempt; twice that before the third
	closeTime      = 5 * time.Second // for what waits when a Notifier is closed
	// firstPause is how long a question waits before the first notice of it: of one that has ended by then, such as by
	// --approve, nobody is told.
	firstPause = 500 * time.Millisecond
)

// A Notifier notifies targets of questions. What a target does never delays a call.
type Notifier struct {
	targets []*backlog
	closing chan struct{}
	closed  sync.Once // also when a reload and the end of the host meet
	cancel  context.CancelFunc
	running sync.WaitGroup
	options NotifierOptions

	mu     sync.Mutex
	paused map[string]pausedQuestion // by ID; nil once it is closed
}

// A pausedQuestion waits for the end of its first pause.
type pausedQuestion struct {
	question *Question
	timer    *time.Timer
}

type backlog struct {
	waiting chan *Question
	dropped atomic.Int64 // since the last line of the log about it
}

// NotifierOptions configure a Notifier.
type NotifierOptions struct {
	// Redact removes secrets from a text; nil removes none.
	Redact func(text string) string
	// Logger gets what could not be delivered; nil drops it.
	Logger *slog.Logger
	// Client is for webhooks; nil is one that follows no redirect.
	Client *http.Client
}

// NewNotifier returns a Notifier for Options.Notify. The caller calls Close.
func NewNotifier(targets []Target, o NotifierOptions) *Notifier {
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Client = cmp.Or(o.Client, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}})
	ctx, cancel := context.WithCancel(context.Background())
	n := &Notifier{closing: make(chan struct{}), cancel: cancel, options: o, paused: map[string]pausedQuestion{}}
	for _, t := range targets {
		b := &backlog{waiting: make(chan *Question, maxNotices)}
		n.targets = append(n.targets, b)
		n.running.Go(func() { n.deliver(ctx, t, b) })
	}
	return n
}

// Notify passes a question on, half a second after it began to wait. It never waits, not even for the log: the queue
// calls it while it is locked.
func (n *Notifier) Notify(q *Question) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, paused := n.paused[q.ID]
	if paused {
		before.timer.Stop()
		delete(n.paused, q.ID)
	}
	switch {
	case n.paused == nil:
		n.pass(q)
	case q.Outcome != nil && !paused:
		n.pass(q)
	case q.Outcome != nil: // nobody was told that it waits
	default:
		if paused {
			n.pass(before.question)
		}
		n.paused[q.ID] = pausedQuestion{q, time.AfterFunc(firstPause, func() { n.endPause(q) })}
	}
}

// endPause passes on a question that still waits.
func (n *Notifier) endPause(q *Question) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.paused[q.ID].question == q {
		delete(n.paused, q.ID)
		n.pass(q)
	}
}

// pass passes a question on to all targets. The caller holds the lock.
func (n *Notifier) pass(q *Question) {
	for _, b := range n.targets {
		select {
		case b.waiting <- q:
		default:
			b.dropped.Add(1)
		}
	}
}

// Close delivers what waits, for at most five seconds, and logs how much it could not. What comes later is dropped.
func (n *Notifier) Close() {
	n.mu.Lock()
	for _, p := range n.paused {
		p.timer.Stop()
		n.pass(p.question)
	}
	n.paused = nil
	n.mu.Unlock()
	n.closed.Do(func() { close(n.closing) })
	defer time.AfterFunc(closeTime, n.cancel).Stop()
	n.running.Wait()
	n.cancel()
}

// deliver notifies one target of one question after the other.
func (n *Notifier) deliver(ctx context.Context, t Target, b *backlog) {
	report := func() {
		if dropped := b.dropped.Swap(0); dropped > 0 {
			n.options.Logger.Warn("notices of approvals were dropped, since too many wait or the host stops", "notify",
				t.Name, "dropped", dropped)
		}
	}
	defer report()
	for {
		q := b.next(n.closing)
		if q == nil {
			return
		}
		report()
		if ctx.Err() != nil {
			b.dropped.Add(1)
			continue
		}
		body, err := json.Marshal(n.notice(q))
		if err == nil {
			err = n.send(ctx, t, body)
		}
		if err != nil {
			n.options.Logger.Warn("a notice of an approval could not be delivered", "notify", t.Name, "id", q.ID, "error",
				n.options.Redact(err.Error()))
		}
	}
}

// next is the next question to tell of; nil when none waits after closing.
func (b *backlog) next(closing <-chan struct{}) *Question {
	select {
	case q := <-b.waiting:
		return q
	case <-closing:
	}
	select {
	case q := <-b.waiting: // both were ready
		return q
	default:
		return nil
	}
}

func (n *Notifier) notice(q *Question) *Notice {
	out := &Notice{Event: "waiting", ID: q.ID, Kind: q.Kind, CallID: q.CallID(), Asked: q.Asked}
	if !q.Expires.IsZero() {
		out.Expires = &q.Expires
	}
	if r := q.Input; r != nil {
		out.Tool, out.Caller, out.Session = r.Tool.Name, r.Caller, r.SessionID
	}
	if r := q.Call; r != nil {
		out.Tool, out.Caller, out.Session, out.Workdir = r.Tool.Name, r.Caller, r.SessionID, r.Workdir
		out.Effect, out.Reason = string(r.Decision.Effect), n.options.Redact(r.Decision.Reason)
		out.Rule = r.Decision.Rule
		out.Risk, _ = Risk(r)
		if r.Preview != nil {
			var texts []string
			for _, c := range r.Preview.Content {
				texts = append(texts, c.Text)
			}
			out.Preview = textutil.Cut(n.options.Redact(strings.Join(texts, "\n")), maxShown)
		}
		// Whole values of secret members first, also arrays and objects, which have no end for a redactor of text.
		out.Arguments = textutil.Cut(n.options.Redact(string(redact.New().JSON(r.Arguments))), maxShown)
	}
	if o := q.Outcome; o != nil {
		out.Event, out.Result, out.By, out.Why = "ended", o.Result, o.By, n.options.Redact(o.Reason)
	}
	return out
}

// send delivers a notice. A webhook that cannot be reached, or fails by its own fault, is tried again.
func (n *Notifier) send(ctx context.Context, t Target, body []byte) error {
	if len(t.Command) > 0 {
		return run(ctx, t.Command, body)
	}
	for attempt := 1; ; attempt++ {
		again, err := n.post(ctx, t, body)
		if err == nil || !again || attempt == noticeAttempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(attempt) * noticePause):
		}
	}
}

func (n *Notifier) post(ctx context.Context, t Target, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "toolhost")
	if t.Secret != "" {
		mac := hmac.New(sha256.New, []byte(t.Secret))
		_, _ = mac.Write(body) // it never fails
		r.Header.Set("X-Toolhost-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	response, err := n.options.Client.Do(r)
	if err != nil {
		return true, err
	}
	defer func() { _ = response.Body.Close() }()      // it was read
	_, _ = io.CopyN(io.Discard, response.Body, 1<<16) // so that the connection can be used again
	if response.StatusCode/100 != 2 {
		return response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests,
			fmt.Errorf("the webhook answered %s", response.Status)
	}
	return false, nil
}

// run starts a command, and ends it and all that it has started after noticeTimeout.
func run(ctx context.Context, command []string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	c := &proctree.Cmd{Path: command[0], Args: command[1:], Grace: -1, Stdin: bytes.NewReader(append(body, '\n'))}
	switch exit, err := c.Run(ctx); {
	case err != nil:
		return err
	case exit.Canceled:
		return errors.New("the command did not end within " + noticeTimeout.String())
	case exit.Code != 0:
		return fmt.Errorf("the command: %s", exit)
	}
	return nil
}
