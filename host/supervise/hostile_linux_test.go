package supervise

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

func init() {
	fixtures["flood"] = floodPlugin
	fixtures["flooded host"] = floodedHost
}

// gibibyte is what a flood plugin sends if it is not stopped.
const gibibyte = 1 << 30

// printing is how many bytes a flood plugin prints; every line is read, however many are dropped: a host that kept
// them would grow by more than twice its bound. crowd is how many floods run at once. With the race detector, which
// needs ten times the processor and four times the memory, both are smaller; `make test-memory` runs them without it.
func printing() int { return map[bool]int{true: gibibyte / 16, false: gibibyte / 8}[raced()] }
func crowd() int    { return map[bool]int{true: 16, false: 64}[raced()] }

// floodPlugin is without the limits of a gRPC library: each of its tools sends a gibibyte of something.
func floodPlugin() {
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	socketAnd(func(lis net.Listener) {
		s := &http.Server{Handler: http.HandlerFunc(serveEndless), Protocols: new(http.Protocols),
			ReadHeaderTimeout: time.Minute}
		s.Protocols.SetUnencryptedHTTP2(true)
		s.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
		_ = s.Serve(lis)
	})
}

type connKey struct{} // of the context of a request: its connection

func serveEndless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	defer w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	body, _ := io.ReadAll(r.Body)
	switch {
	case strings.HasSuffix(r.URL.Path, "/Watch") && os.Getenv("WATCH") != "":
		_ = again(nil)(w)
	case strings.HasSuffix(r.URL.Path, "/StreamStdio"), strings.HasSuffix(r.URL.Path, "/Watch"):
		<-r.Context().Done()
	case strings.HasSuffix(r.URL.Path, "/Describe") && os.Getenv("DESCRIBE") != "":
		_ = floodBodies[os.Getenv("DESCRIBE")](w)
	case strings.HasSuffix(r.URL.Path, "/Call"):
		tool := toolOf(body[5:])
		if head, strays := strayFrames[tool]; strays {
			sendStrays(r.Context().Value(connKey{}).(net.Conn), head)
			return
		}
		_ = floodBodies[tool](w)
	case strings.HasSuffix(r.URL.Path, "/Describe"):
		described.Add(1)
		_ = frame(w, number(6, 1)) // dynamic
	default:
		_ = frame(w, nil)
	}
}

// The heads of frames of RFC 9113 that belong to no call: length, type, flags and stream. Zeros follow.
var strayFrames = map[string][]byte{
	"data of no stream":     {0, 50, 0, 0, 0, 0, 0, 0x7f, 0xff},
	"data of an old stream": {0, 50, 0, 0, 0, 0, 0, 0, 1},
	"resets":                {0, 0, 4, 3, 0, 0, 0, 0x7f, 0xff},
	"answers to settings":   {0, 0, 0, 4, 1, 0, 0, 0, 0},
	"pings":                 {0, 0, 8, 6, 0, 0, 0, 0, 0},
	"answers to pings":      {0, 0, 8, 6, 1, 0, 0, 0, 0},
	"priorities":            {0, 0, 5, 2, 0, 0, 0, 0x7f, 0xff},
	"an unknown type":       {0, 50, 0, 0xee, 0, 0, 0, 0, 0},
}

// sendStrays sends frames until a gibibyte is sent.
func sendStrays(conn net.Conn, head []byte) {
	frames := bytes.Repeat(append(slices.Clone(head), make([]byte, int(head[1])<<8|int(head[2]))...), 256)
	for out := 0; out < gibibyte; out += len(frames) {
		if _, err := conn.Write(frames); err != nil {
			return
		}
	}
}

var described atomic.Int64 // how often it was asked to describe itself

// toolOf reads a CallRequest's tool.
func toolOf(request []byte) string {
	for len(request) > 0 {
		n, kind, size := protowire.ConsumeTag(request)
		if n == 2 && kind == protowire.BytesType {
			tool, _ := protowire.ConsumeString(request[size:])
			return tool
		}
		request = request[size+protowire.ConsumeFieldValue(n, kind, request[size:]):]
	}
	return ""
}

// frame writes one gRPC message.
func frame(w io.Writer, payload []byte) error {
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(payload)))
	_, err := w.Write(append(head, payload...))
	return err
}

// field is a field of bytes.
func field(n protowire.Number, parts ...[]byte) []byte {
	var value []byte
	for _, p := range parts {
		value = append(value, p...)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), value)
}

func number(n protowire.Number, v int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), uint64(v))
}

// again writes one message until a gibibyte is sent.
func again(payload []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for out := 0; out < gibibyte; out += len(payload) + 5 {
			if err := frame(w, payload); err != nil {
				return err
			}
		}
		return nil
	}
}

// printed fills one of the process's own streams, and then answers.
func printed(f *os.File) func(io.Writer) error {
	return func(w io.Writer) error {
		lines := []byte(strings.Repeat(strings.Repeat("x", 1023)+"\n", 64))
		for out := 0; out < printing(); out += len(lines) {
			if _, err := f.Write(lines); err != nil {
				return err
			}
		}
		return frame(w, text("printed"))
	}
}

func text(s string) []byte { return field(7, field(1, field(1, []byte("text")), field(2, []byte(s)))) }

// The field numbers are those of plugin.proto.
var floodBodies = map[string]func(io.Writer) error{
	"asked":    func(w io.Writer) error { return frame(w, text(fmt.Sprint(described.Load()))) },
	"echo":     func(w io.Writer) error { return frame(w, text("through")) },
	"largest":  func(w io.Writer) error { return frame(w, text(strings.Repeat("x", sdk.MaxResult))) },
	"parts":    again(field(5, field(1, field(1, []byte("text")), field(2, make([]byte, 64<<10))), number(2, 64<<10))),
	"progress": again(field(2, field(3, make([]byte, 1<<10)))),
	"ticks":    again(field(2)),
	"logs":     again(field(3, field(2, make([]byte, 64<<10)))),
	"output":   again(field(4, field(2, make([]byte, 256<<10)))),
	"unknown":  again(field(99, make([]byte, 1<<10))),
	"nothing":  func(io.Writer) error { return nil }, // not even a result
	"stderr":   printed(os.Stderr),
	"stdout":   printed(os.Stdout),
	"pieces": func(w io.Writer) error {
		head, more := field(5, field(1, field(1, []byte("text"))), number(2, sdk.MaxResult)),
			field(6, field(1, make([]byte, 64<<10)))
		for out := 0; out < gibibyte; out += sdk.MaxResult {
			for i := range sdk.MaxResult/(64<<10) + 1 {
				if err := frame(w, [][]byte{head, more}[min(i, 1)]); err != nil {
					return err
				}
			}
		}
		return nil
	},
	"one message": func(w io.Writer) error {
		_, err := w.Write([]byte{0, 0x40, 0, 0, 0}) // 1 GiB is announced
		for block := make([]byte, 64<<10); err == nil; {
			_, err = w.Write(block)
		}
		return err
	},
	"elements": func(w io.Writer) error {
		return frame(w, field(7, []byte(strings.Repeat("\x0a\x00", sdk.MaxResult/2))))
	},
	"tools": func(w io.Writer) error { return frame(w, []byte(strings.Repeat("\x22\x00", sdk.MaxResult/2))) },
	"never": func(io.Writer) error { forever(); return nil },
	"status": func(w io.Writer) error {
		h := w.(http.ResponseWriter)
		h.WriteHeader(http.StatusOK)
		h.(http.Flusher).Flush()
		h.Header().Set(http.TrailerPrefix+"Grpc-Message", strings.Repeat("x", 16<<20))
		return nil
	},
}

// A floodResult is the effect of a gibibyte sent to a host.
type floodResult struct {
	Grown  int            // MiB that the host's peak memory grew by
	Codes  map[string]int // of the flood calls, "" for a result
	Others []string       // failures of concurrent calls
	Told   string         // the first call's error
}

// floodedHost is a host that makes CALLS calls of the tool POUR at once, makes others concurrently on the same plugin
// and on another, and prints the spill.
func floodedHost() {
	s := must(New(Options{RunDir: os.Getenv("RUN"), Logger: slog.New(slog.DiscardHandler)}))
	bad, good := must(s.Add(fixture("flood", "flood"))), must(s.Add(fixture("good", "good")))
	var out floodResult
	out.beside(bad, good)
	before := peak()
	done := make(chan struct{})
	go func() { defer close(done); out.pour(bad) }()
	out.besideUntil(done, bad, good)
	<-done
	out.beside(bad, good)
	out.Grown = (peak() - before) >> 10
	_ = json.NewEncoder(os.Stdout).Encode(out)
	_ = s.Close()
}

func (f *floodResult) pour(p *Process) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	f.Codes = map[string]int{}
	for range must(strconv.Atoi(os.Getenv("CALLS"))) {
		wg.Go(func() {
			_, err := p.Call(context.Background(), request(os.Getenv("POUR"), ""))
			mu.Lock()
			defer mu.Unlock()
			f.Codes[string(sdk.CodeOf(err))]++
			if err != nil && f.Told == "" {
				f.Told = err.Error()
			}
		})
	}
	wg.Wait()
}

func (f *floodResult) besideUntil(done <-chan struct{}, plugins ...*Process) {
	for !isClosed(done) {
		f.beside(plugins...)
	}
}

func (f *floodResult) beside(plugins ...*Process) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	for _, p := range plugins {
		r, err := p.Call(ctx, request("echo", "through"))
		if err != nil || len(r.Content) != 1 || r.Content[0].Text != "through" {
			f.Others = append(f.Others, fmt.Sprintf("%s: %+v, %v", p.Name(), r, err))
		}
	}
}

// peak is this process's peak memory, in KiB.
func peak() int {
	status := string(must(os.ReadFile("/proc/self/status")))
	_, rest, _ := strings.Cut(status, "VmHWM:")
	return must(strconv.Atoi(strings.Fields(rest)[0]))
}

// floods bounds how many run at once: they use a processor each.
var floods = make(chan struct{}, 2)

func floodHost(t *testing.T, pour string, calls int) (f floodResult) {
	t.Helper()
	floods <- struct{}{}
	defer func() { <-floods }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "FIXTURE=flooded host", "RUN="+shortDir(t), "POUR="+pour, "CALLS="+strconv.Itoa(calls))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &f)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return f
}

// bound is how much the limits let the memory of a host grow, in MiB: the concurrent work, and for each call a
// message, its decoded form, and the garbage of both. The race detector needs more.
func bound(calls int) int {
	most := 24 + 13*calls
	if raced() {
		most *= 4
	}
	return most
}

// raced reports whether the race detector is on.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Whatever a plugin sends, its host's memory grows within the limits, the call ends with an error that names the
// limit, and other calls, on the same plugin and on another, succeed.
func TestGibibytes(t *testing.T) {
	const tooLarge = string(sdk.CodeResultTooLarge)
	for pour, c := range map[string]struct {
		calls       []int
		code, noted string
	}{
		"largest":     {[]int{1}, "", ""},
		"parts":       {[]int{1, crowd()}, tooLarge, "the limit is 4194304"},
		"pieces":      {[]int{1, crowd()}, tooLarge, "the limit is 4194304"},
		"one message": {[]int{1, crowd()}, tooLarge, "one message that is too large"},
		"elements":    {[]int{1, crowd()}, tooLarge, "2097152 elements in one message; the limit is 4000"},
		"progress":    {[]int{1}, tooLarge, "200000 of its events, or 16777216 bytes"},
		"ticks":       {[]int{1}, tooLarge, "200000 of its events"},
		"logs":        {[]int{1}, tooLarge, "16777216 bytes"},
		"output":      {[]int{1, crowd()}, tooLarge, "16777216 bytes"},
		"unknown":     {[]int{1}, tooLarge, "200000 of its events"},
		"stderr":      {[]int{1}, "", ""},
		"stdout":      {[]int{1}, "", ""},
	} {
		if testing.Short() {
			c.calls = c.calls[:1]
		}
		for _, calls := range c.calls {
			t.Run(fmt.Sprintf("%s in %d", pour, calls), func(t *testing.T) {
				t.Parallel()
				f := floodHost(t, pour, calls)
				t.Logf("%d MiB, %v, %s", f.Grown, f.Codes, f.Told)
				if f.Codes[c.code] != calls || !strings.Contains(f.Told, c.noted) {
					t.Errorf("%d calls end with %v, %q; want %q with %q", calls, f.Codes, f.Told, c.code, c.noted)
				}
				if f.Grown > bound(calls) {
					t.Errorf("the host's memory grew by %d MiB, at most %d are allowed", f.Grown, bound(calls))
				}
				if len(f.Others) > 0 {
					t.Errorf("%d other calls went wrong: %.1000q", len(f.Others), f.Others)
				}
			})
		}
	}
}

// Headers far over their limit break the connection: the plugin's calls fail, and no others.
func TestStatusOfSixteenMebibytes(t *testing.T) {
	f := floodHost(t, "status", 1)
	if f.Codes[""] > 0 || len(f.Told) > 5000 || f.Grown > bound(1) {
		t.Errorf("%v, %.200q, %d MiB", f.Codes, f.Told, f.Grown)
	}
	for _, other := range f.Others {
		if !strings.HasPrefix(other, "flood: ") {
			t.Errorf("another plugin's call went wrong: %.1000q", other)
		}
	}
}

// gRPC reads and answers frames that belong to no call for as long as they come.
func TestGibibytesOfStrayFrames(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	good := add(t, s, fixture("good", "good"))
	for kind := range strayFrames {
		if testing.Short() && kind == "pings" { // each is answered, which takes a hundred times as long
			continue
		}
		bad := add(t, s, fixture("flood-"+strings.ReplaceAll(kind, " ", "-"), "flood"))
		_, err := call(t, bad, kind, "")
		checkError(t, err, sdk.CodePluginCrashed, "it sent without end what belongs to no call")
		if got := mustCall(t, good, "echo", "unharmed"); got != "unharmed" {
			t.Errorf("%s: the other plugin gave %q", kind, got)
		}
	}
}

// A call that comes after a violation of the protocol is made in the next process, not in the one that is being killed.
func TestCallAfterAViolation(t *testing.T) {
	p := add(t, supervisor(t), fixture("flood", "flood"))
	for range 5 {
		_, err := call(t, p, "nothing", "")
		checkError(t, err, sdk.CodeProtocol, "without a result", `plugin "flood"`)
		if e, _ := errors.AsType[*sdk.Error](err); !strings.HasPrefix(e.Suggestion, "This is a bug in the plugin") {
			t.Errorf("it says to do %q", e.Suggestion)
		}
		mustCall(t, p, "echo", "")
		p.Reset() // its crashes are forgotten
	}
}

// A plugin whose description is over a limit, or never comes, is not started; the error names the limit.
func TestEndlessDescriptions(t *testing.T) {
	t.Parallel()
	for describe, c := range map[string]struct {
		words string
		limit time.Duration
	}{
		"tools":       {"2097152 elements in one message; the limit is 16384", patience},
		"one message": {"larger than max (1073741824 vs. 4456448)", patience},
		"ticks":       {"could not be started", patience}, // a second answer to one question
		"never":       {"not ready within 10s: it did not describe itself: the call took longer", 10 * time.Second},
	} {
		t.Run(describe, func(t *testing.T) {
			t.Parallel()
			s := supervisor(t)
			spec := fixture("bad", "flood")
			spec.Env["DESCRIBE"], spec.StartTimeout = describe, c.limit
			_, err := call(t, add(t, s, spec), "echo", "")
			checkError(t, err, sdk.CodePluginUnavailable, c.words)
			mustCall(t, add(t, s, fixture("good", "good")), "echo", "")
		})
	}
}

// A plugin that reports changes without end is listed only a few times a second.
func TestChangesWithoutEnd(t *testing.T) {
	spec := fixture("restless", "flood")
	spec.Env["WATCH"] = "1"
	p := add(t, supervisor(t), spec)
	asked := func() int { return must(strconv.Atoi(mustCall(t, p, "asked", ""))) }
	mustCall(t, p, "echo", "")
	began, first := time.Now(), asked()
	soon(t, "it is asked again", patience, func() bool { return asked() > first+3 })
	if n, most := asked()-first, 5+int(time.Since(began)/watchInterval); n > most {
		t.Errorf("it was asked %d times in %s", n, time.Since(began))
	}
}

// A plugin cannot exceed its limit of processes, unless it runs as root, which is reported.
func TestLimitOfProcesses(t *testing.T) {
	most := 150
	if !proctree.DetectCapabilities().Namespaces { // only its own processes count in one
		most += len(threadsOfTheUser())
	}
	p := add(t, supervisor(t), attacker(makeAttackTargets(t), sandbox.Spec{Limits: sandbox.Limits{Processes: most}}))
	out := mustCall(t, p, "run",
		"i=0; while [ $i -lt 500 ]; do sleep 100 >/dev/null 2>&1 & i=$((i+1)); done; echo all of them")
	noted := slices.ContainsFunc(p.Status().Sandbox.Missing,
		func(m string) bool { return strings.HasPrefix(m, "the number of processes is not limited") })
	if limited := !strings.Contains(out, "all of them"); limited == noted {
		t.Errorf("limited: %t, and yet a note that it is not: %t; as user %d: %.200s", limited, noted, os.Geteuid(), out)
	}
}

func threadsOfTheUser() []string {
	threads := must(filepath.Glob("/proc/[0-9]*/task/*"))
	return slices.DeleteFunc(threads, func(path string) bool {
		var st syscall.Stat_t
		return syscall.Stat(path, &st) != nil || int(st.Uid) != os.Geteuid()
	})
}

func init() { fixtures["visitor"] = func() { sdk.Serve(neighborCaller()) } }

// neighborCaller has a tool that calls the other plugins of its host by their sockets, and returns their answers.
func neighborCaller() *sdk.Plugin {
	p := sdk.New("visitor", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "visit", Description: "calls others"},
		func(ctx context.Context, r *sdk.Request, _ textArgs) (*sdk.Result, error) {
			own := os.Getenv("PLUGIN_UNIX_SOCKET_DIR")
			sockets, _ := filepath.Glob(filepath.Join(filepath.Dir(own), "*", "plugin*"))
			said := ""
			for _, socket := range sockets {
				if filepath.Dir(socket) == own {
					continue
				}
				conn, err := grpc.NewClient("unix:"+socket, wire.DialOptions(0)...)
				if err != nil {
					return nil, err
				}
				_, err = client.New(conn).Call(ctx, request("echo", "from a plugin"))
				said += fmt.Sprintf("answered: %t (%v)\n", err == nil, err)
				_ = conn.Close()
			}
			return sdk.Text(said), nil
		})
	return p
}

// A plugin finds the sockets of others, but they answer the host alone, also where they cannot identify the peer.
func TestPluginsDoNotCallEachOther(t *testing.T) {
	t.Parallel()
	for _, l := range levels {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			s := supervisor(t)
			victim, visitor := fixture("good", "good"), fixture("visitor", "visitor")
			victim.Sandbox.Level, visitor.Sandbox.Level = l, l
			mustCall(t, add(t, s, victim), "echo", "")
			if said := mustCall(t, add(t, s, visitor), "visit", ""); len(said) < 10 || said[:15] != "answered: false" {
				t.Errorf("the other plugin: %q", said)
			}
		})
	}
}

func init() {
	fixtures["locker"] = func() { sdk.Serve(lockerPlugin()) }
}

// lockerPlugin locks every file in the folders DIRS that it can read, for as long as it lives.
func lockerPlugin() *sdk.Plugin {
	p := sdk.New("locker", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "lock", Description: "locks everything"},
		func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
			locked := 0
			for _, dir := range filepath.SplitList(os.Getenv("DIRS")) {
				_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
					fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
					if err == nil && syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
						locked++
					}
					return nil
				})
			}
			return sdk.Textf("%d", locked), nil
		})
	return p
}

// A confined plugin that locks every file that it can read does not prevent others from starting, or restarting:
// neither in the folder of copies nor in the host's own.
func TestPluginThatLocksCopies(t *testing.T) {
	bin, run := filepath.Join(t.TempDir(), "bin"), shortDir(t)
	host := func() *Supervisor {
		s := must(New(Options{RunDir: run, BinDir: bin}))
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	spec := fixture("p", "good")
	spec.SHA256 = must(sumOf(os.Args[0]))
	first := host()
	mustCall(t, add(t, first, spec), "pid", "")
	check(t, first.Close())
	s := host()
	locker := fixture("locker", "locker")
	locker.Env["DIRS"], locker.Sandbox = bin+":"+run, sandbox.Spec{Level: sandbox.Confined, Write: []string{t.TempDir()}}
	l, p := add(t, s, locker), add(t, s, spec)
	for i := range 3 {
		if n := mustCall(t, l, "lock", ""); i == 0 && n == "0" { // later it holds most of them
			t.Error("nothing could be locked")
		}
		mustCall(t, p, "pid", "")
		if exe := must(s.verifiedProgram(spec, nil)); !strings.HasPrefix(exe, s.runDir.path) {
			t.Errorf("it runs from %s", exe)
		}
		p.Reset() // its crashes are reset
		_ = mustStop(t, p)
	}
	mustCall(t, add(t, host(), spec), "pid", "")
}
