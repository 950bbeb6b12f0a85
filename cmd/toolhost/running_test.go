package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rpc "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// newPlace finds a place that no host has made.
func newPlace(t *testing.T) local.Place {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	place, err := local.Find(filepath.Join(t.TempDir(), "config.hcl"), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// lockPlace makes a place, and takes its lock as a host does.
func lockPlace(t *testing.T, place local.Place) *os.File {
	t.Helper()
	if err := place.Make(); err != nil {
		t.Fatal(err)
	}
	lock, err := fsutil.TryLock(place.Lock(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// Where no socket leads to a host, commands say what the process that has the lock does, and how to end it.
func TestHostThatIsNotReached(t *testing.T) {
	place := newPlace(t)
	if err := notReached(place); !errors.Is(err, local.ErrNotRunning) {
		t.Errorf("without a lock: %v", err)
	}
	lock := lockPlace(t, place)
	kill := fmt.Sprintf("kill %d", os.Getpid())
	for _, c := range []struct {
		state local.State
		wants []string
	}{
		{local.Starts, []string{local.ErrNotRunning.Error()}},
		{local.Serves, []string{place.Socket() + " is gone", kill}},
		{local.Stops, []string{fmt.Sprintf("process %d is stopping", os.Getpid())}},
	} {
		if err := local.Hold(lock, c.state); err != nil {
			t.Fatal(err)
		}
		err := notReached(place)
		for _, want := range c.wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", c.state, err, want)
			}
		}
		if c.state != local.Starts && exitCode(err) != exitUnavailable {
			t.Errorf("%s: code %d", c.state, exitCode(err))
		}
	}
	if err := local.Release(lock); err != nil {
		t.Fatal(err)
	}
	if err := notReached(place); !strings.Contains(err.Error(), "an earlier process") {
		t.Errorf("after the end of a successor: %v", err)
	}
	if err := awaitEnd(t.Context(), place, os.Getpid(), -stopGrace); fmt.Sprint(err) != (&stoppingError{}).Error() {
		t.Errorf("the end of a successor is awaited without the earlier process: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := notReached(place); !errors.Is(err, local.ErrNotRunning) {
		t.Errorf("after the end: %v", err)
	}
	if err := awaitEnd(t.Context(), place, os.Getpid(), 0); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

// heldPlace is a place that this process holds and listens at, until the end of the test.
func heldPlace(t *testing.T) (local.Place, net.Listener) {
	t.Helper()
	place := newPlace(t)
	lock := lockPlace(t, place)
	t.Cleanup(func() { _ = lock.Close() })
	if err := local.Hold(lock, local.Serves); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", place.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return place, l
}

// A host that takes connections and answers nothing, such as a suspended one, is named, with what ends it.
func TestHostThatDoesNotAnswer(t *testing.T) {
	place, _ := heldPlace(t)
	conn, err := place.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &runningHost{conn: conn, host: apiv1.NewHostServiceClient(conn)}
	defer r.close()
	_, err = r.getInfo(t.Context(), place, 50*time.Millisecond)
	for _, want := range []string{"did not answer within 50ms", fmt.Sprintf("kill -9 %d", os.Getpid())} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if exitCode(err) != exitUnavailable {
		t.Errorf("code %d", exitCode(err))
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.getInfo(canceled, place, time.Minute); !errors.Is(err, errInterrupted) {
		t.Errorf("interrupted: %v", err)
	}
	if _, _, err := (&runningCall{r: r, tool: "test__a"}).describe(canceled); !errors.Is(err, errInterrupted) {
		t.Errorf("interrupted while the tool is described: %v", err)
	}
}

// A host that was lost before it got a call has not run it, and is not one that is silent: whoever has the lock now is
// not to be ended.
func TestHostThatIsLost(t *testing.T) {
	place, l := heldPlace(t)
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_ = c.Close()
		}
	}()
	conn, err := place.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &runningHost{conn: conn, host: apiv1.NewHostServiceClient(conn), info: &apiv1.GetInfoResponse{}}
	defer r.close()
	if _, err := r.getInfo(t.Context(), place, time.Minute); !errors.Is(err, errDisconnected) {
		t.Errorf("it is asked what it serves: %v", err)
	}
	g := &options{terminal: &terminal{out: &stdoutWriter{w: io.Discard}, err: io.Discard}}
	for _, words := range [][]string{nil, {"x=1"}} {
		f := callFlags{words: words}
		if _, err := makeCall(t.Context(), &runningCall{g: g, r: r, tool: "test__a", f: f}, nil, f,
			g.eventPrinter(f)); !errors.Is(err, errNoHost) {
			t.Errorf("%q: %v", words, err)
		}
	}
	if ended, err := g.printApprovals(t.Context(), r); ended == nil || err != nil {
		t.Errorf("its questions are printed: it ended by %v, error %v", ended, err)
	}
	if ended, err := g.answerAll(t.Context(), r, nil); ended == nil || err != nil {
		t.Errorf("its questions are answered: it ended by %v, error %v", ended, err)
	}
}

// The reason why a host did not start is not what an earlier one has logged.
func TestLastLineOfAStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const earlier = "msg=call\n"
	for text, want := range map[string]string{"": "", "starts\nfails\n": "fails"} {
		if err := os.WriteFile(path, []byte(earlier+text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := lastLine(path, int64(len(earlier))); got != want {
			t.Errorf("after %q: %q, want %q", text, got, want)
		}
	}
}

// A line break in a path would be a setting of the unit.
func TestUnitOfAFolderWithALineBreak(t *testing.T) {
	newPlace(t)
	t.Chdir(t.TempDir())
	for _, manager := range []string{"systemd", "launchd"} {
		var out strings.Builder
		g := &options{terminal: &terminal{out: &stdoutWriter{w: &out}}, workdir: "a\nExecStop=b"}
		if err := g.printUnit(manager, "", "server", nil); !strings.Contains(fmt.Sprint(err), "a control character") {
			t.Errorf("%s: %v", manager, err)
		}
		if out.Len() > 0 {
			t.Errorf("%s: %s", manager, out.String())
		}
	}
}

// What became of a call whose host is gone is in the record, under the id that the host had.
func TestLostCallHasItsID(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for name, ctx := range map[string]context.Context{"HostLost": t.Context(), "Interrupted": interrupted} {
		var out bytes.Buffer
		g := newTerminal(nil, &out, io.Discard)
		cmd, _, err := newRoot(g).Find([]string{"call"})
		if err != nil {
			t.Fatal(err)
		}
		g.printJSONError(cmd, []string{"--stream"}, lostCall(ctx, status.Error(rpc.Unavailable, ""), true, "c1"))
		if !strings.Contains(out.String(), `"call_id":"c1"`) || !strings.Contains(out.String(), `"name":"`+name+`"`) {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}
