package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/internal/protogen"
	"github.com/toolhost/toolhost/sdk"
)

var roleInComment = regexp.MustCompile(`Role:\s+(viewer|approver|operator)`)

// TestRolesAreThoseOfTheProto reads the role of each method in its comment.
func TestRolesAreThoseOfTheProto(t *testing.T) {
	const source = "toolhost/api/v1/api.proto"
	files, err := protogen.File{Folder: "../api/proto", Source: source, Registered: source}.Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := files[len(files)-1]
	comments := map[string]string{}
	for _, l := range file.SourceCodeInfo.Location {
		comments[fmt.Sprint(l.Path)] = l.GetLeadingComments()
	}
	streams := 0
	for i, service := range file.Service {
		for j, method := range service.Method {
			path := apiPrefix + service.GetName() + "/" + method.GetName()
			want := Viewer
			if m := roleInComment.FindStringSubmatch(comments[fmt.Sprint([]int32{6, int32(i), 2, int32(j)})]); m != nil {
				want = Role(m[1])
			}
			if got := needed(path); got != want {
				t.Errorf("%s needs %q; its comment says %q", path, got, want)
			}
			if method.GetServerStreaming() && (strings.HasPrefix(method.GetName(), "Watch") || method.GetName() == "Logs") {
				streams++
				if !watches[path] {
					t.Errorf("%s is not bounded as a watch", path)
				}
			}
		}
	}
	if streams != len(watches) {
		t.Errorf("%d watches in the proto, %d are bounded", streams, len(watches))
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	s := new(setup).start(t)
	operator := "Bearer " + operatorToken
	for name, c := range map[string]struct {
		procedure string
		header    map[string]string
		status    int
	}{
		"no token":       {apiv1connect.HostServiceGetInfoProcedure, nil, http.StatusUnauthorized},
		"wrong token":    {apiv1connect.HostServiceGetInfoProcedure, map[string]string{"Authorization": operator + "x"}, 401},
		"other scheme":   {apiv1connect.HostServiceGetInfoProcedure, map[string]string{"Authorization": "Basic eDp5"}, 401},
		"viewer calls":   {apiv1connect.HostServiceCallOnceProcedure, map[string]string{"Authorization": "Bearer " + viewerToken}, 403},
		"approver calls": {apiv1connect.HostServiceCallOnceProcedure, map[string]string{"Authorization": "Bearer " + approverToken}, 403},
		"viewer answers": {apiv1connect.ApprovalServiceAnswerProcedure, map[string]string{"Authorization": "Bearer " + viewerToken}, 403},
		"other origin":   {apiv1connect.HostServiceGetInfoProcedure, map[string]string{"Authorization": operator, "Origin": "http://evil.example"}, 403},
		"other port":     {apiv1connect.HostServiceGetInfoProcedure, map[string]string{"Authorization": operator, "Origin": "http://127.0.0.1:1"}, 403},
		"null origin":    {apiv1connect.HostServiceGetInfoProcedure, map[string]string{"Authorization": operator, "Origin": "null"}, 403},
		"cross-site":     {apiv1connect.HostServiceGetInfoProcedure, map[string]string{"Authorization": operator, "Sec-Fetch-Site": "cross-site"}, 403},
		"DNS rebinding":  {apiv1connect.HostServiceGetInfoProcedure, map[string]string{"Authorization": operator, "Host": "evil.example"}, 403},
		"rebinding, same port": {apiv1connect.HostServiceGetInfoProcedure,
			map[string]string{"Authorization": operator, "Host": "evil.example:" + port(s.address)}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			if status, body := s.post(c.procedure, "{}", c.header); status != c.status || !strings.Contains(body, "message") {
				t.Errorf("%d, want %d: %s", status, c.status, body)
			}
		})
	}
	s.t = t
	if status, body := s.post(apiv1connect.HostServiceGetInfoProcedure, "{}", map[string]string{"Authorization": operator,
		"Origin": s.url, "Sec-Fetch-Site": "same-origin"}); status != http.StatusOK {
		t.Errorf("the own origin: %d %s", status, body)
	}
	s.unharmed()
}

func port(address string) string {
	_, p, _ := net.SplitHostPort(address)
	return p
}

// dial opens a connection of plain TCP.
func (s *setup) dial() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

func (s *setup) head(length string) string {
	return "POST " + apiv1connect.HostServiceCallOnceProcedure + " HTTP/1.1\r\nHost: " + s.address +
		"\r\nAuthorization: Bearer " + operatorToken + "\r\nContent-Type: application/json\r\n" + length + "\r\n\r\n"
}

func TestHugeBodies(t *testing.T) {
	// On a busy machine the race detector takes half a minute for sixteen megabytes.
	s := (&setup{limits: func(l *limits) { l.body = 10 * time.Minute }}).start(t)
	for name, length := range map[string]string{"announced": "Content-Length: 1073741824",
		"in chunks": "Transfer-Encoding: chunked"} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			c := s.dial()
			if _, err := io.WriteString(c, s.head(length)); err != nil {
				t.Fatal(err)
			}
			go func() { // as much as the server takes
				chunk := strings.Repeat("x", 1<<16)
				if strings.HasPrefix(length, "Transfer") {
					chunk = fmt.Sprintf("%x\r\n%s\r\n", len(chunk), chunk)
				}
				for range 1 << 14 {
					if _, err := io.WriteString(c, chunk); err != nil {
						return
					}
				}
			}()
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusTooManyRequests ||
				!strings.Contains(string(text), "resource_exhausted") {
				t.Errorf("status %d, %s", answer.StatusCode, text)
			}
		})
	}
	s.t = t
	s.unharmed()
}

func TestSlowClientsAreEnded(t *testing.T) {
	s := &setup{limits: func(l *limits) { l.header, l.body = time.Second, time.Second }}
	s.start(t)
	for name, text := range map[string]string{
		"half a header":          "POST /toolhost.api.v1.HostService/GetInfo HTTP/1.1\r\nHost: x\r\nX-",
		"half a body":            s.head("Content-Length: 100") + `{"tool":`,
		"nothing":                "",
		"half an HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM",
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			c := s.dial()
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(c) // until the server ends it
			if err != nil {
				t.Fatalf("the connection is not ended: %v", err)
			}
			if strings.HasPrefix(string(answer), "HTTP/1.1 2") ||
				name == "half a body" && !strings.Contains(string(answer), `"the body was not complete in time"`) {
				t.Errorf("%s", answer)
			}
		})
	}
	s.t = t
	s.unharmed()
}

// TestWatchesOutliveTheTimeForABody because that is for what a client sends.
func TestWatchesOutliveTheTimeForABody(t *testing.T) {
	s := &setup{limits: func(l *limits) { l.body = time.Second / 2 }}
	s.start(t)
	for name, o := range map[string]connect.ClientOption{"gRPC-Web": connect.WithGRPCWeb(), "Connect": connect.WithProtoJSON()} {
		watch, err := s.client(viewerToken, o).WatchCalls(t.Context(), connect.NewRequest(&apiv1.WatchCallsRequest{}))
		if err != nil || !watch.Receive() {
			t.Fatal(name, err, watch.Err())
		}
		select {
		case <-time.After(time.Second):
		case <-t.Context().Done():
		}
		s.unharmed() // a call, which the watch shows
		if !watch.Receive() {
			t.Errorf("%s: the watch has ended: %v", name, watch.Err())
		}
		_ = watch.Close()
	}
}

func TestCallEndsWithItsStream(t *testing.T) {
	begun, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	s := &setup{plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){
		"wait": func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
			begun <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return nil, sdk.EndedError(ctx)
		}}}}
	s.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := s.client(operatorToken).Call(ctx, connect.NewRequest(&apiv1.CallRequest{Tool: "p__wait"}))
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	cancel()
	_ = stream.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the call runs on without its client")
	}
	body := `{"tool":"p__wait"}`
	for name, end := range map[string]func(*net.TCPConn) error{"closed": (*net.TCPConn).Close,
		"half-closed": (*net.TCPConn).CloseWrite} {
		c := s.dial()
		if _, err := io.WriteString(c, s.head(fmt.Sprintf("Content-Length: %d", len(body)))+body); err != nil {
			t.Fatal(err)
		}
		<-begun
		_ = end(c.(*net.TCPConn))
		select {
		case <-ended:
		case <-time.After(patience):
			t.Errorf("the call runs on with its connection %s", name)
		}
		if name == "closed" {
			continue
		}
		answer, err := io.ReadAll(c)
		if err != nil || !strings.Contains(string(answer), string(sdk.CodeCanceled)) {
			t.Errorf("the client that still reads gets %q, %v", answer, err)
		}
	}
	s.unharmed()
}

func TestTooManyWatches(t *testing.T) {
	s := &setup{limits: func(l *limits) { l.watches = 10 }}
	s.start(t)
	c := s.client(viewerToken)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := 0
	for range 50 {
		watch, err := c.WatchCalls(ctx, connect.NewRequest(&apiv1.WatchCallsRequest{}))
		switch {
		case err == nil && watch.Receive():
			open++
		case err == nil:
			err = watch.Err()
			fallthrough
		default:
			if connect.CodeOf(err) != connect.CodeResourceExhausted {
				t.Fatal(err)
			}
		}
	}
	if open != 10 {
		t.Errorf("%d watches of one token are open", open)
	}
	other, err := s.client(approverToken).WatchCalls(ctx, connect.NewRequest(&apiv1.WatchCallsRequest{}))
	if err != nil || !other.Receive() {
		t.Errorf("another token: %v %v", err, other.Err())
	}
	s.unharmed()
	cancel()
	await(t, "the watches end with their clients", func() bool { return s.server.watches.open() == 0 })
}

// Of 10,000 watches, those over the limit are refused with what to do, and cost no memory.
func TestTenThousandWatches(t *testing.T) {
	s := (&setup{}).start(t)
	memory := func() uint64 {
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		return now.HeapInuse + now.StackInuse
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before, open := memory(), 0
	var clients sync.WaitGroup
	var mu sync.Mutex
	for range 20 {
		c := s.client(viewerToken)
		clients.Go(func() {
			for range 500 {
				watch, err := c.WatchCalls(ctx, connect.NewRequest(&apiv1.WatchCallsRequest{}))
				if err == nil && watch.Receive() {
					mu.Lock()
					open++
					mu.Unlock()
					continue
				}
				if err == nil {
					err = watch.Err()
				}
				var refused *connect.Error
				if !errors.As(err, &refused) || refused.Code() != connect.CodeResourceExhausted ||
					!strings.Contains(refused.Message(), "too many watches") {
					t.Errorf("a watch ends with %v", err)
					return
				}
			}
		})
	}
	clients.Wait()
	s.unharmed()
	if open != s.server.limits.watches {
		t.Errorf("%d watches are open; the limit is %d", open, s.server.limits.watches)
	}
	if grown := int64(memory()) - int64(before); grown > 64<<20 {
		t.Errorf("server and clients have %d MiB more", grown>>20)
	}
	cancel()
	await(t, "the watches end with their clients", func() bool { return s.server.watches.open() == 0 })
	s.unharmed()
}

func TestManyIdleConnectionsDoNotShutOthersOut(t *testing.T) {
	s := &setup{limits: func(l *limits) { l.connections = 20 }}
	s.start(t)
	for range 200 {
		s.dial()
	}
	s.unharmed()
}

// Requests that are half sent shut no one out, whoever sends them: who has no token holds a twentieth of the connections,
// one token a half.
func TestHalfRequestsDoNotShutOthersOut(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		held int
	}{
		"of anyone":  {"POST " + sessionPath + " HTTP/1.1\r\n", 2},
		"of a token": {"POST " + apiv1connect.HostServiceGetInfoProcedure + " HTTP/1.1\r\nAuthorization: Bearer " + viewerToken + "\r\n", 20},
	} {
		t.Run(name, func(t *testing.T) {
			s := &setup{limits: func(l *limits) { l.connections, l.header, l.body = 40, patience, patience }}
			s.start(t)
			const all = 100
			refused := make(chan struct{}, all)
			for range all {
				conn := s.dial()
				if _, err := io.WriteString(conn, c.head+"Host: "+s.address+"\r\nContent-Type: application/json\r\nContent-Length: "+
					"50\r\n\r\n{"); err != nil {
					t.Fatal(err)
				}
				go func() {
					var first [12]byte // a connection that has served nothing may end without an answer
					if n, _ := io.ReadFull(conn, first[:]); n == 0 || string(first[:]) == "HTTP/1.1 429" {
						refused <- struct{}{}
					}
				}()
			}
			for n := range all - c.held {
				select {
				case <-refused:
				case <-time.After(patience):
					t.Fatalf("%d requests are held, not %d", all-n, c.held)
				}
			}
			if status, body := s.post(apiv1connect.HostServiceGetInfoProcedure, "{}",
				map[string]string{"Authorization": "Bearer " + operatorToken}); status != http.StatusOK {
				t.Errorf("a client with a token: %d %s", status, body)
			}
			s.unharmed()
			if len(refused) > 0 {
				t.Errorf("fewer than %d requests are held", c.held)
			}
		})
	}
}

func TestTooManyRequestsOfOneToken(t *testing.T) {
	begun := make(chan struct{}, 10)
	s := &setup{limits: func(l *limits) { l.load.Requests = 3 }, plugin: fake{tools: map[string]func(context.Context,
		*sdk.Request) (*sdk.Result, error){"wait": waitTool(begun, nil)}}}
	s.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := s.client(operatorToken)
	for range 3 {
		stream, err := c.Call(ctx, connect.NewRequest(&apiv1.CallRequest{Tool: "p__wait"}))
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		<-begun
	}
	_, err := c.GetInfo(t.Context(), connect.NewRequest(&apiv1.GetInfoRequest{}))
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("the fourth: %v", err)
	}
	if _, err := s.client(viewerToken).GetInfo(t.Context(), connect.NewRequest(&apiv1.GetInfoRequest{})); err != nil {
		t.Errorf("another token: %v", err)
	}
}

// dialVar has the path of a socket for a child of the test.
const dialVar = "TOOLHOST_TEST_DIAL"

// dialAsChild exits with 0 if a request on the socket is answered.
func dialAsChild(path string) {
	c, err := net.Dial("unix", path)
	if err != nil {
		os.Exit(3)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	answer, _ := io.ReadAll(c)
	if strings.HasPrefix(string(answer), "HTTP/1.1 200") {
		os.Exit(0)
	}
	os.Exit(2)
}

func TestProcessesThatTheHostHasStartedAreNotServed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells which processes those are")
	}
	s := new(setup).start(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sh", "-c", program+`; test $? -eq 2`) // a grandchild
	child.Env = append(slices.Clone(os.Environ()), dialVar+"="+s.socket)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("it was served: %v %s", err, out)
	}
}
