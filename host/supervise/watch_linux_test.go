package supervise

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func init() { fixtures["watched"] = watchedPlugin }

// watchedPlugin has the tools that the file TOOLS_FILE names, and reports a change of it. HOW says what goes wrong with
// the first report of a change.
func watchedPlugin() {
	file, how := os.Getenv("TOOLS_FILE"), os.Getenv("HOW")
	var watches, faults atomic.Int64
	report := func(w http.ResponseWriter) {
		_ = frame(w, field(1))
		w.(http.Flusher).Flush()
	}
	watch := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		tools := contents(file) // before the first report: what changes after it is reported again
		report(w)
		if watches.Add(1) == 1 && (how == "ends" || how == "fails") {
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", map[string]string{"ends": "0", "fails": "13"}[how])
			return
		}
		for r.Context().Err() == nil {
			if now := contents(file); now != tools {
				tools = now
				report(w)
			}
			within(10*time.Millisecond, r.Context().Done())
		}
	}
	describe := func(w http.ResponseWriter, r *http.Request) {
		tools := contents(file)
		switch {
		case !strings.Contains(tools, "b") || faults.Add(1) > 1:
		case how == "silent":
			<-r.Context().Done()
			return
		case how == "too much":
			_ = frame(w, []byte(strings.Repeat("\x22\x00", 20_000)))
			return
		}
		body := number(6, 1)
		for name := range strings.FieldsSeq(tools) {
			body = append(body, field(4, field(1, []byte(name)), field(3, []byte("for tests")),
				field(4, []byte(`{"type":"object"}`)))...)
		}
		_ = frame(w, body)
	}
	socketAnd(func(lis net.Listener) {
		s := &http.Server{Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/Watch"):
					watch(w, r)
				case strings.HasSuffix(r.URL.Path, "/Describe"):
					w.Header().Set("Content-Type", "application/grpc")
					defer w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
					describe(w, r)
				default:
					serveEndless(w, r)
				}
			})}
		s.Protocols.SetUnencryptedHTTP2(true)
		go func() { _ = s.Serve(lis) }()
		_, _ = os.Stdin.Read(make([]byte, 1))
	})
}

// No change of tools is missed: not when the plugin ends the watch, nor when it does not describe itself in time, or
// too long, after it has reported the change.
func TestWatchThatFails(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"", "ends", "fails", "silent", "too much"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "tools")
			check(t, os.WriteFile(file, []byte("a"), 0o600))
			spec := fixture("watched", "watched")
			spec.Env["TOOLS_FILE"], spec.Env["HOW"] = file, how
			p := add(t, supervisor(t), spec)
			if tools := must(p.Tools(t.Context())); len(tools) != 1 {
				t.Fatalf("tools: %v", tools)
			}
			for n, tools := range []string{"a b", "a b c"} {
				check(t, os.WriteFile(file, []byte(tools), 0o600))
				soon(t, "the next tool is known", patience, func() bool { return len(must(p.Tools(t.Context()))) == n+2 })
			}
		})
	}
}
