package supervise

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

func init() {
	plays["halves"] = func() { socketAnd(halves) }
	plays["hoards"] = func() { signal.Ignore(syscall.SIGTERM); leaveBehind(os.Stdout); deaf() }
}

// halves serves well until its tool wait has said that it waits: then it sends half an HTTP/2 frame, and nothing ever again.
// It ends for nothing but SIGKILL.
func halves(lis net.Listener) {
	signal.Ignore(syscall.SIGTERM)
	p := sdk.New("halves", "1")
	sdk.AddTool(p, sdk.Tool{Name: "wait", Description: "waits"}, waitTool)
	_ = sdk.ServeListener(context.Background(), p, cutting{lis})
}

type cutting struct{ net.Listener }

func (l cutting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return cut{c}, err
}

type cut struct{ net.Conn }

func (c cut) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if bytes.Contains(p, []byte("waiting")) {
		_, _ = c.Conn.Write([]byte{0, 0x40, 0, 0, 0, 0, 0, 0, 1, 'x'})
		forever()
	}
	return n, err
}

// closes ends the plugin, checks that it took no longer than it may, and that nothing is left of it.
func closes(t *testing.T, p *Process) {
	t.Helper()
	pid, began := p.Status().PID, time.Now()
	_ = p.Close()
	if took := time.Since(began); took > slack*stopTime {
		t.Errorf("closing took %s", took)
	}
	if pid != 0 && alive(pid) {
		t.Error("the process is still there")
	}
	if s := p.Status(); s.State != Stopped || s.PID != 0 || s.Calls != 0 || s.Draining != 0 {
		t.Errorf("status: %+v", s)
	}
}

// Whatever a plugin is in, it ends in time, and its calls have their answer at once.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		role string
		then func(t *testing.T, p *Process)
	}{
		"serving":              {"good", nil},
		"stopped":              {"good", func(t *testing.T, p *Process) { stop(t, p.Status().PID) }},
		"stopped and deaf":     {"deaf", func(t *testing.T, p *Process) { stop(t, p.Status().PID) }},
		"deaf to SIGTERM":      {"deaf", nil},
		"in half a frame":      {"halves", nil},
		"with its pipes held":  {"hoards", nil},
		"killed while it ends": {"deaf", func(t *testing.T, p *Process) { go kill(p, Draining) }},
		"killed just before":   {"good", func(t *testing.T, p *Process) { _ = syscall.Kill(p.Status().PID, syscall.SIGKILL) }},
		"while the old drains": {"deaf", func(t *testing.T, p *Process) {
			mustReload(t, p, playing("x", "deaf"))
			begin(t, t.Context(), p, "deaf")
		}},
		"while a reload starts": {"good", func(t *testing.T, p *Process) { go p.Reload(t.Context(), playing("x", "mute")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := add(t, supervisor(t), playing("x", c.role))
			ended := begin(t, t.Context(), p, "deaf")
			if c.then != nil {
				c.then(t, p)
			}
			began := time.Now()
			go p.Close()
			err := <-ended
			if took := time.Since(began); took > slack*time.Second {
				t.Errorf("the call had its answer after %s", took)
			}
			if code := sdk.CodeOf(err); code != sdk.CodeCanceled && (code != sdk.CodePluginCrashed || name != "killed just before") {
				t.Errorf("the call: %v", err)
			}
			closes(t, p)
			_, err = call(t, p, "wait", "")
			checkError(t, err, sdk.CodePluginUnavailable, "closed")
		})
	}
}

// kill ends the process as soon as the plugin is in the state.
func kill(p *Process, in State) {
	pid := p.Status().PID
	for p.Status().State != in && !isClosed(p.done) {
		<-time.After(time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// A plugin that takes no calls ends in time too, and those who wait for it hear of it.
func TestCloseWithoutAProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		role string
		in   State
	}{
		"never started":           {"good", Known},
		"starting, silent":        {"silent", Starting},
		"starting, half a line":   {"half", Starting},
		"starting, stopped":       {"stopped", Starting},
		"starting, mute":          {"mute", Starting},
		"starting, socket shared": {"bequeaths", Starting},
		"crashed":                 {"exits", Crashed},
		"in backoff":              {"exits", Backoff},
		"quarantined":             {"exits", Quarantined},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := playing("x", c.role)
			spec.Restart = Restart{MaxCrashes: 2, Backoff: time.Minute, BackoffMax: time.Minute}
			spec.StartTimeout = time.Minute
			if c.in == Quarantined {
				spec.Restart.Backoff, spec.Restart.BackoffMax = time.Nanosecond, time.Nanosecond
			}
			p := add(t, supervisor(t), spec)
			ended := make(chan error, 1)
			if c.in == Starting {
				go func() { _, err := call(t, p, "echo", ""); ended <- err }()
			}
			soon(t, string(c.in), patience, func() bool {
				if c.in != Known && c.in != Starting {
					_, _ = call(t, p, "echo", "")
				}
				return p.Status().State == c.in
			})
			closes(t, p)
			if c.in == Starting {
				checkError(t, <-ended, sdk.CodePluginUnavailable, "closed")
			}
		})
	}
}

// A process that has ended is told from one that goes on, also when its launcher takes long to say so.
func TestDeathBeforeItIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		dies   bool
	}{"ends": {"exit 3", true}, "goes on": {"read line", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("/bin/sh", "-c", c.script)
			in := must(cmd.StdinPipe())
			check(t, cmd.Start())
			defer func() { _ = in.Close(); _ = cmd.Wait() }()
			g := &generation{child: &child{handle: must(os.FindProcess(cmd.Process.Pid)), exited: make(chan struct{})}}
			if knows := g.child.handle.WithHandle(func(uintptr) {}) == nil; !knows {
				c.dies = false // the kernel does not say
			}
			soon(t, "it has ended", patience, func() bool { return g.child.gone() == c.dies })
			if c.dies {
				defer time.AfterFunc(settle+settle/4, func() { close(g.child.exited) }).Stop()
			}
			if got := g.died(); got != c.dies {
				t.Errorf("it has died: %t, want %t", got, c.dies)
			}
		})
	}
}

// Closing twice and from many sides waits for one end.
func TestCloseManyTimes(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	p := add(t, s, playing("x", "good"))
	mustCall(t, p, "echo", "")
	pid := p.Status().PID
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			_ = p.Close()
			if alive(pid) || p.Status().State != Stopped {
				t.Error("a Close returned before the end")
			}
		})
		wg.Go(func() { _ = s.Close() })
	}
	wg.Wait()
	closes(t, p)
}

// A removed plugin with calls that go on does not keep the supervisor from its end.
func TestCloseDuringARemoval(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	p := add(t, s, playing("x", "deaf"))
	ended := begin(t, t.Context(), p, "deaf")
	if problems := s.Reload(t.Context(), nil); len(problems) > 0 {
		t.Fatal(problems)
	}
	soon(t, "draining", patience, func() bool { return p.Status().State == Draining })
	began := time.Now()
	_ = s.Close()
	if took := time.Since(began); took > slack*stopTime {
		t.Errorf("closing took %s", took)
	}
	checkError(t, <-ended, sdk.CodeCanceled, "closed")
	closes(t, p)
	if problems := s.Reload(t.Context(), nil); len(problems) != 1 {
		t.Errorf("a closed supervisor is reloaded: %v", problems)
	}
}
