package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

func TestDialAgreesOnARevision(t *testing.T) {
	for _, c := range []struct {
		name, pinned, want string
		modes              []string
		starts             int32
	}{
		{"without handshake", "", "2026-07-28", []string{"modern"}, 1},
		{"newest handshake", "", "2025-11-25", nil, 1},
		{"oldest handshake", "", "2024-11-05", []string{"2024-11-05"}, 1},
		{"before the oldest", "", "2024-10-07", []string{"2024-10-07"}, 1},
		{"pinned", "2025-06-18", "2025-06-18", []string{"modern"}, 1},
		{"pinned to no handshake", "2026-07-28", "2026-07-28", []string{"modern"}, 1},
		{"silence", "", "2025-11-25", []string{"silent-on-discover"}, 1},
		{"a wrong answer", "", "2025-11-25", []string{"nonsense-on-discover"}, 1},
		{"an error without an id", "", "2025-11-25", []string{"null-id"}, 1},
		{"an exit", "", "2025-11-25", []string{"exits-on-discover"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var starts atomic.Int32
			cmd := command(t, c.modes...)
			s := dialTo(t, func(ctx context.Context) (client.Transport, error) {
				starts.Add(1)
				return cmd.Open(ctx)
			}, client.Options{Revision: c.pinned, DiscoverTimeout: timeoutFor(c.modes)})
			info := s.Server()
			if info.Revision != c.want || starts.Load() != c.starts ||
				string(info.Info) != `{"name":"fake","version":"1"}` || !info.Has("tools") || info.Has("prompts") {
				t.Errorf("%+v, %d starts", info, starts.Load())
			}
			if got, err := callTool(context.Background(), s, "echo", `{}`, nil); err != nil {
				t.Error(got, err)
			}
		})
	}
}

// What worked before is tried first, and costs nothing but an attempt when the server no longer speaks it.
func TestDialBeginsWithTheRevisionThatIsExpected(t *testing.T) {
	for _, c := range []struct {
		name, expected, want string
		modes                []string
		starts               int32
	}{
		{"a handshake", "2025-11-25", "2025-11-25", []string{"exits-on-discover"}, 1},
		{"an older handshake", "2024-11-05", "2024-11-05", []string{"2024-11-05", "exits-on-discover"}, 1},
		{"no handshake", "2026-07-28", "2026-07-28", []string{"modern"}, 1},
		{"no handshake any more", "2025-11-25", "2026-07-28", []string{"modern", "refuses-initialize"}, 2},
		{"a handshake now", "2026-07-28", "2025-11-25", nil, 1},
		{"nonsense", "x", "2025-11-25", nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var starts atomic.Int32
			cmd := command(t, c.modes...)
			s := dialTo(t, func(ctx context.Context) (client.Transport, error) {
				starts.Add(1)
				return cmd.Open(ctx)
			}, client.Options{Expected: c.expected, DiscoverTimeout: time.Minute})
			if got := s.Server().Revision; got != c.want || starts.Load() != c.starts {
				t.Errorf("%s after %d starts; want %s after %d", got, starts.Load(), c.want, c.starts)
			}
		})
	}
}

// timeoutFor is short for a server that is silent, and long for others on a busy machine.
func timeoutFor(modes []string) time.Duration {
	if len(modes) > 0 && modes[0] == "silent-on-discover" {
		return 100 * time.Millisecond
	}
	return time.Minute
}

func TestDialFails(t *testing.T) {
	for _, c := range []struct {
		name, pinned string
		modes        []string
		want         string
	}{
		{"no such revision", "2023-01-01", nil, `"2023-01-01" is not a protocol revision that this client speaks`},
		{"pinned and not spoken", "2026-07-28", nil, "Method not found (JSON-RPC error -32601)"},
		{"pinned and exit", "2026-07-28", []string{"exits-on-discover"}, "the server ended with exit code 7"},
		{"another revision than pinned", "2025-06-18", []string{"2024-11-05"},
			`the server wants protocol revision "2024-11-05" instead of "2025-06-18", to which it is pinned`},
		{"a revision from the future", "", []string{"2031-01-01"}, `the server wants protocol revision "2031-01-01"`},
		{"dies at start", "", []string{"dies-at-start"},
			"the server ended with exit code 3; its last lines on standard error:\nerror: no token is set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := client.Dial(context.Background(), command(t, c.modes...).Open, client.Options{Revision: c.pinned})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "last lines") > 1 {
				t.Errorf("%v, %v; want %s", s, err, c.want)
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(context.Background())
		late := errors.New("too late")
		cmd := command(t, "silent-on-initialize")
		cmd.Stderr = func(string) { cancel(late) } // it has read initialize
		_, err := client.Dial(ctx, cmd.Open, client.Options{})
		if !errors.Is(err, late) || !strings.Contains(err.Error(), "waiting for the moon") {
			t.Error(err)
		}
	})
	t.Run("no program", func(t *testing.T) {
		t.Parallel()
		_, err := client.Dial(context.Background(), (&client.Command{Path: "nosuch", Env: []string{"PATH=/bin"}}).Open,
			client.Options{})
		if err == nil || err.Error() != `exec: "nosuch": not found in PATH` {
			t.Error(err)
		}
	})
	t.Run("no environment", func(t *testing.T) {
		t.Parallel()
		_, err := client.Dial(context.Background(), (&client.Command{Path: "sh"}).Open, client.Options{})
		if err == nil || err.Error() != `exec: "sh": not found: its environment has no PATH` {
			t.Error(err)
		}
	})
}

// A server that needs longer than the time for server/discover reads both requests. The answer to initialize counts,
// unless that is an error.
func TestSlowServerReadsBothRequests(t *testing.T) {
	for answer, want := range map[string]string{
		`"result":{"protocolVersion":"2025-11-25","capabilities":{}}`: "2025-11-25",
		`"error":{"code":-32601,"message":"there is no handshake"}`:   "2026-07-28",
	} {
		w := newWire(t)
		go func() {
			discover := w.nextOf("server/discover")
			initialize := w.nextOf("initialize")
			w.fromServer(`{"jsonrpc":"2.0","id":`+discover.ID+
				`,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`, "")
			w.fromServer(`{"jsonrpc":"2.0","id":`+initialize.ID+`,`+answer+`}`, "")
		}()
		s := dialTo(t, func(context.Context) (client.Transport, error) { return w, nil },
			client.Options{DiscoverTimeout: time.Millisecond})
		if got := s.Server().Revision; got != want {
			t.Errorf("%s after %s", got, answer)
		}
	}
}

func TestListBounds(t *testing.T) {
	for mode, want := range map[string]struct {
		items int
		err   string
	}{
		"many-tools":    {client.MaxListItems, "tools/list: the list has more than 10000 tools; the rest is left out"},
		"endless-pages": {2, "tools/list: the pages of the list repeat without end; what came until then is used"},
		"many-pages":    {1000, "tools/list: the list has more than 1000 pages; the rest is left out"},
		"no-tools":      {0, "tools/list: the result has no tools"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := dial(t, client.Options{}, mode)
			l, err := s.List(context.Background(), client.Tools)
			if err == nil || err.Error() != want.err || len(l.Items) != want.items {
				t.Errorf("%d, %v", len(l.Items), err)
			}
		})
	}
}

// However many notifications a server sends, few of them cause work, and calls go on.
func TestListChangedStorm(t *testing.T) {
	var calls atomic.Int32
	s := dial(t, client.Options{ListChanged: func(list string) {
		if list == "tools" {
			calls.Add(1)
		}
	}}, "storm")
	began := time.Now()
	for range 20 {
		if _, err := callTool(context.Background(), s, "echo", `1`, nil); err != nil {
			t.Fatal(err)
		}
	}
	until(t, func() bool { return calls.Load() >= 3 })
	if most := int32(time.Since(began)/(100*time.Millisecond)) + 2; calls.Load() > most {
		t.Errorf("%d calls, more than %d", calls.Load(), most)
	}
}

// until waits for a condition.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come true")
		}
	}
}

// At 2026-07-28 changes of lists come after a subscription. What may have changed before it began, or while there was
// none, counts as changed. One that ends is made again, and one that is refused is not.
func TestSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan string, 100)
		began := time.Now()
		_, w := wired(t, client.Options{ListChanged: func(list string) { changed <- list }}, client.Revision20260728)
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("Dial waits %s for a server that does not acknowledge", waited)
		}
		acknowledge := func() {
			w.fromServer(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`, "")
		}
		expect := func(least, most int) {
			t.Helper()
			time.Sleep(time.Second / 2)
			synctest.Wait()
			if n := len(changed); n < least || n > most {
				t.Errorf("%d changes, not %d to %d", n, least, most)
			}
			for len(changed) > 0 {
				if list := <-changed; list != "tools" {
					t.Error(list)
				}
			}
		}
		m := w.nextOf("subscriptions/listen")
		if !strings.Contains(string(m.JSON), `"params":{"notifications":{"toolsListChanged":true},"_meta":{`) {
			t.Errorf("%s", m.JSON)
		}
		acknowledge()
		expect(1, 1) // late
		for range 10 {
			w.fromServer(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{}}}`, "")
		}
		expect(1, 2) // the first, and all others
		w.answer(m)
		m = w.nextOf("subscriptions/listen")
		expect(0, 0)
		acknowledge()
		expect(1, 1)
		w.fromServer(`{"jsonrpc":"2.0","id":`+m.ID+`,"error":{"code":-32601,"message":"no"}}`, "")
		time.Sleep(time.Hour)
		w.settle()
	})
}

func TestListChangedWithoutSubscribers(t *testing.T) {
	_, w := wired(t, client.Options{}, client.Revision20260728)
	w.fromServer(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, "")
	w.settle() // nothing but the answer is sent
}

func TestCancellation(t *testing.T) {
	for _, mode := range []string{"2025-11-25", "modern"} {
		cmd := command(t, mode)
		lines := make(chan string, 100)
		cmd.Stderr = func(line string) { lines <- line }
		s := dialTo(t, cmd.Open, client.Options{Warn: func(text string) { t.Error(text) }})
		ctx, cancel := context.WithCancelCause(context.Background())
		done := make(chan outcome, 1)
		go func() {
			r, err := callTool(ctx, s, "hang", `{}`, nil)
			done <- outcome{r, err}
		}()
		<-lines // it hangs
		why := errors.New("the person left")
		cancel(why)
		got := await(t, done)
		if call, ok := errors.AsType[*client.CallError](got.err); !ok || !call.Delivered || !errors.Is(got.err, why) {
			t.Errorf("%+v", got)
		}
		if line := <-lines; !strings.HasPrefix(line, "canceled ") {
			t.Error(line)
		}
		// The late answer is dropped, and the next call has its own.
		if got, err := callTool(context.Background(), s, "echo", `1`, nil); err != nil || !strings.Contains(got, "1") {
			t.Error(got, err)
		}
		if _, err := callTool(ctx, s, "echo", `1`, nil); !errors.Is(err, why) {
			t.Error(err)
		} else if call, _ := errors.AsType[*client.CallError](err); call.Delivered {
			t.Error("a call that was canceled before it began counts as delivered")
		}
	}
}

func TestErrorOfTheServer(t *testing.T) {
	s := dial(t, client.Options{})
	_, err := callTool(context.Background(), s, "nosuch", `{}`, nil)
	if e, ok := errors.AsType[*client.RPCError](err); !ok || e.Code != -32602 || e.Message != "Unknown tool: nosuch" {
		t.Error(err)
	}
	text, _ := json.Marshal(&client.RPCError{Code: 1, Message: "m"})
	if string(text) != `{"code":1,"message":"m"}` {
		t.Errorf("%s", text)
	}
}

// An exitedProcess is the transport of a server whose end a request meets before the session does.
type exitedProcess struct {
	closed chan struct{}
	once   *sync.Once
}

func (exitedProcess) LastLines() string { return "no license" }

func (p exitedProcess) Send(context.Context, *client.Message) error {
	return &client.ExitError{Stderr: p.LastLines()}
}

func (p exitedProcess) Receive() (client.Received, error) {
	<-p.closed
	return client.Received{}, io.EOF
}

func (p exitedProcess) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// The last lines of a server that has ended are in the error once, whoever meets the end first.
func TestLastLinesAreToldOnce(t *testing.T) {
	opened := 0
	_, err := client.Dial(t.Context(), func(context.Context) (client.Transport, error) {
		opened++
		return exitedProcess{make(chan struct{}), new(sync.Once)}, nil
	}, client.Options{})
	if err == nil || strings.Count(err.Error(), "no license") != 1 || opened != 2 {
		t.Errorf("%d connections, error %v", opened, err)
	}
}

// A printingProcess is the transport of a program that prints, and is no server.
type printingProcess struct {
	lines  chan string
	closed chan struct{}
}

func (printingProcess) Send(context.Context, *client.Message) error { return nil }

func (p printingProcess) Receive() (client.Received, error) {
	select {
	case line := <-p.lines:
		return client.Received{JSON: []byte(line)}, nil
	case <-p.closed:
		return client.Received{}, io.EOF
	}
}

func (p printingProcess) Close() error {
	close(p.closed)
	return nil
}

// The error of a server that does not answer, but prints, has its first line.
func TestPrintingServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	lines := make(chan string, 2)
	lines <- "Listening on port 3000"
	lines <- "Ready."
	_, err := client.Dial(ctx, func(context.Context) (client.Transport, error) {
		return printingProcess{lines, make(chan struct{})}, nil
	}, client.Options{Warn: func(string) { cancel() }})
	if err == nil || !strings.Contains(err.Error(), `The first: "Listening on port 3000"`) {
		t.Error(err)
	}
}

// The first line is told apart from the last lines on standard error of a server that ended.
func TestPrintingServerEnds(t *testing.T) {
	_, err := client.Dial(t.Context(), func(context.Context) (client.Transport, error) {
		lines := make(chan string, 1)
		lines <- "Usage: server"
		return endingProcess{printingProcess{lines, make(chan struct{})}}, nil
	}, client.Options{})
	if err == nil || !strings.Contains(err.Error(), "\nnpm notice\nPerhaps the answer was lost: ") {
		t.Error(err)
	}
}

type endingProcess struct{ printingProcess }

func (p endingProcess) Receive() (client.Received, error) {
	select {
	case line := <-p.lines:
		return client.Received{JSON: []byte(line)}, nil
	default:
		return client.Received{}, &client.ExitError{Stderr: "npm notice"}
	}
}
