package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/toolhost/toolhost/sdk"
)

// trusting is a TLS configuration for a test server's own certificate.
func trusting(s *httptest.Server) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func TestHTTP2(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, r.Proto)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	if got := body(t, fetch(t, start(t, testHooks{tls: trusting(s)}, open), s.URL)); got != "HTTP/2.0" {
		t.Errorf("got %q", got)
	}
}

func TestUnknownCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(answers("text/plain", "x"))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	wantError(t, fetch(t, start(t, testHooks{}, open), s.URL), "TLSFailed", "certificate")
}

// raw is a server that sends what it likes, and then waits for the client to leave.
func raw(t *testing.T, send func(w io.Writer)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				send(conn)
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

func TestBrokenAnswers(t *testing.T) {
	for _, c := range []struct{ name, sent, fail, says string }{
		{"not HTTP", "SSH-2.0-OpenSSH_9.6\r\n", "BadReply", "malformed"},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "BadReply",
			"another protocol"},
		{"nothing", "", "BadReply", "EOF"},
		{"too short", head + "Content-Length: 10\r\n\r\nabc", "IncompleteBody", "after 3 bytes"},
		{"a broken chunk", head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n", "IncompleteBody", "after 3 bytes"},
		{"two lengths", head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "BadReply", "Content-Length"},
		{"huge headers", head + "X: " + strings.Repeat("x", 2*maxReplyHeader) + "\r\n\r\n", "BadReply", "headers exceeded"},
		{"broken gzip", head + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", "IncompleteBody", ""},
		{"packed in a way of its own", head + "Content-Encoding: br\r\nContent-Length: 3\r\n\r\nabc", "UnknownEncoding",
			`"br"`},
		{"packed twice", head + "Content-Encoding: identity, Zstd\r\nContent-Length: 3\r\n\r\nabc", "UnknownEncoding",
			`"identity, Zstd"`},
		{"packed in a second header", head + "Content-Encoding: none\r\nContent-Encoding: x-gzip\r\n\r\nabc",
			"UnknownEncoding", `"none,x-gzip"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := raw(t, func(w io.Writer) { io.WriteString(w, c.sent) })
			wantError(t, fetch(t, start(t, testHooks{}, open), url), c.fail, c.says)
		})
	}
}

func TestCodingsThatPackNothing(t *testing.T) {
	p := start(t, testHooks{}, open)
	for _, coding := range []string{"identity", "aws-chunked", "utf-8", "none", "8bit, binary", ""} {
		url := raw(t, func(w io.Writer) { io.WriteString(w, head+"Content-Encoding: "+coding+"\r\n\r\nabc") })
		if got := body(t, fetch(t, p, url)); got != "abc" {
			t.Errorf("%q: got %q", coding, got)
		}
	}
}

func TestChunkedBody(t *testing.T) {
	url := raw(t, func(w io.Writer) {
		io.WriteString(w, head+"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
	})
	if got := body(t, fetch(t, start(t, testHooks{}, open), url)); got != "abcde" {
		t.Errorf("got %q", got)
	}
}

func TestGzipBomb(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		zeros := make([]byte, 1<<20)
		for i := range zeros {
			zeros[i] = 'a'
		}
		for range 300 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
		z.Close()
	})
	p := start(t, testHooks{}, open)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := reportOf(t, fetch(t, p, url))
	runtime.ReadMemStats(&after)
	if out.BodyBytes != defaultBytes || !out.Truncated {
		t.Errorf("%+v", out)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
		t.Errorf("%d MiB were used", used>>20)
	}
}

func TestEndlessBody(t *testing.T) {
	url := raw(t, func(w io.Writer) {
		_, err := io.WriteString(w, head+"\r\n")
		for err == nil {
			_, err = io.WriteString(w, strings.Repeat("more ", 1000))
		}
	})
	if out := reportOf(t, fetch(t, start(t, testHooks{}, open), url)); out.BodyBytes != defaultBytes || !out.Truncated {
		t.Errorf("%+v", out)
	}
}

// slow sends a byte every few milliseconds, for as long as anyone reads.
func slow(start string) func(w io.Writer) {
	return func(w io.Writer) {
		_, err := io.WriteString(w, start)
		for tick := time.NewTicker(5 * time.Millisecond); err == nil; <-tick.C {
			_, err = io.WriteString(w, "x")
		}
	}
}

// A stalled body is one whose time is over after its first byte.
type stalled struct {
	context.Context
	over context.CancelCauseFunc
}

func (s *stalled) Read(p []byte) (int, error) {
	if s.Err() != nil {
		return 0, s.Err()
	}
	s.over(slowTransferError{time.Second})
	p[0] = 'x'
	return 1, nil
}

func TestTimeoutInABody(t *testing.T) {
	ctx, over := context.WithCancelCause(t.Context())
	err := (&response{url: somewhere}).read(ctx, &stalled{ctx, over}, defaultBytes)
	const want = "not done after 1s, while reading the answer of "
	if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Code != sdk.CodeTimeout || !strings.HasPrefix(e.Message, want) ||
		!strings.HasSuffix(e.Message, ", 1 bytes of which had come") {
		t.Errorf("error is %v", err)
	}
}

func TestTimeout(t *testing.T) {
	for name, c := range map[string]struct{ start, says string }{
		"slow headers": {"HTTP/1.1 200 OK\r\nX: ", "while waiting for http://127.0.0.1"},
		"slow body":    {head + "\r\n", "while "}, // a busy machine may wait for it as long
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, testHooks{}, open)
			r := p.Run(t, "get", args(t, map[string]any{"url": raw(t, slow(c.start)), "timeout_seconds": 0.2}))
			wantError(t, r, "Timeout", "not done after 200ms", c.says, "timeout_seconds")
			if r.Error.Code != sdk.CodeTimeout {
				t.Errorf("code %s", r.Error.Code)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	for name, first := range map[string]string{"headers": "HTTP/1.1 200 OK\r\nX: ", "body": head + "\r\n"} {
		t.Run(name, func(t *testing.T) {
			begun := make(chan struct{}, 1)
			url := raw(t, func(w io.Writer) { begun <- struct{}{}; slow(first)(w) })
			p := start(t, testHooks{}, open)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-begun; cancel() }()
			_, err := p.Call(ctx, &sdk.Request{CallID: "1", Tool: "get",
				Arguments: json.RawMessage(args(t, map[string]any{"url": url})), Workdir: t.TempDir(), Attempt: 1})
			if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Code != sdk.CodeCanceled {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	r := fetch(t, start(t, testHooks{}, open), url)
	wantError(t, r, "ConnectFailed", "refused")
	if !r.Error.Retryable {
		t.Error("it may work later")
	}
}

func TestCharsets(t *testing.T) {
	const korean, japanese = "안녕하세요. 한국어로 쓴 긴 문장입니다. 오늘은 날씨가 좋습니다.", "こんにちは。これは日本語で書かれた長い文章です。今日は天気が良いです。"
	encode := func(charset, text string) string {
		e, err := htmlindex.Get(charset)
		if err != nil {
			t.Fatal(err)
		}
		out, err := e.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct{ name, contentType, sent, want, charset string }{
		{"EUC-KR by the header", "text/plain; charset=EUC-KR", encode("euc-kr", korean), korean, "euc-kr"},
		{"Shift_JIS by the header", "text/plain; charset=\"shift_jis\"", encode("shift_jis", japanese), japanese,
			"shift_jis"},
		{"EUC-KR by the page", "text/html", `<meta charset=euc-kr><p>` + encode("euc-kr", korean), korean, "euc-kr"},
		{"Shift_JIS by the page, the old way", "text/html",
			`<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><p>` + encode("shift_jis", japanese),
			japanese, "shift_jis"},
		{"the header is stronger than the page", "text/html; charset=utf-8", `<meta charset=euc-kr><p>` + korean, korean,
			"utf-8"},
		{"Shift_JIS by its looks", "text/plain", encode("shift_jis", strings.Repeat(japanese, 5)),
			strings.Repeat(japanese, 5), "shift_jis"},
		{"EUC-KR by its looks", "text/plain", encode("euc-kr", strings.Repeat(korean, 5)), strings.Repeat(korean, 5),
			"euc-kr"},
		{"UTF-16 by its mark", "text/plain", "\xff\xfea\x00\xe4\x00", "aä", "utf-16le"},
		{"UTF-16 by the header", "text/plain; charset=utf-16be", "\x00a\x00\xe4", "aä", "utf-16be"},
		{"Windows-1252", "text/plain", "caf\xe9", "café", "windows-1252"},
		{"UTF-8 with a damage", "text/plain", "日本語 é \xff", "日本語 é \ufffd", "utf-8"},
		{"Latin 1 is Windows-1252", "text/plain; charset=iso-8859-1", "\x93caf\xe9\x94", "“café”", "windows-1252"},
		{"UTF-8 not reported", "text/plain", "ä", "ä", "utf-8"},
		{"UTF-8 in a page, not reported", "text/html", "<p>ä", "ä", "utf-8"},
		{"EUC-KR by the XML", "application/rss+xml", `<?xml version="1.0" encoding="EUC-KR"?><a>` + encode("euc-kr", "한글"),
			`<?xml version="1.0" encoding="EUC-KR"?><a>한글`, "euc-kr"},
		{"Shift_JIS by the XML", "text/xml", "\n<?xml version='1.0'  encoding = 'shift_jis' ?>" + encode("shift_jis", "日本"),
			"\n<?xml version='1.0'  encoding = 'shift_jis' ?>日本", "shift_jis"},
		{"Shift_JIS by the XHTML", "application/xhtml+xml", `<?xml version="1.0" encoding="Shift_JIS"?><html><p>` +
			encode("shift_jis", "日本"), "日本", "shift_jis"},
		{"the header is stronger than the XML", "text/xml; charset=utf-8", `<?xml version="1.0" encoding="EUC-KR"?>ä`,
			`<?xml version="1.0" encoding="EUC-KR"?>ä`, "utf-8"},
		{"XML that is not what it says", "text/xml", `<?xml version="1.0" encoding="utf-16"?>ä`,
			`<?xml version="1.0" encoding="utf-16"?>ä`, "utf-8"},
		{"XML that says nothing", "text/xml", `<?xml version="1.0"?><a encoding="EUC-KR">ä`,
			`<?xml version="1.0"?><a encoding="EUC-KR">ä`, "utf-8"},
		{"a charset that nobody knows", "text/plain; charset=klingon", "ä", "ä", "utf-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := fetch(t, start(t, testHooks{}, open), serve(t, answers(c.contentType, c.sent)))
			if got := body(t, r); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if out := reportOf(t, r); out.Charset != c.charset {
				t.Errorf("charset %q, want %q", out.Charset, c.charset)
			}
		})
	}
}

func TestCutInACharacter(t *testing.T) {
	url := serve(t, answers("text/plain", strings.Repeat("ä", 100)))
	r := start(t, testHooks{}, open).Run(t, "get", args(t, map[string]any{"url": url, "max_bytes": 21}))
	if out := reportOf(t, r); out.Charset != "utf-8" || body(t, r) != strings.Repeat("ä", 10) {
		t.Errorf("%+v: %q", out, body(t, r))
	}
}

// What came of a body before it broke off, or before the time was up, is shown: a stream of events has no end.
func TestPartsOfABody(t *testing.T) {
	p := start(t, testHooks{}, open)
	for name, c := range map[string]struct {
		send       func(io.Writer)
		fail, want string
	}{
		"cut off":    {func(w io.Writer) { io.WriteString(w, head+"Content-Length: 9\r\n\r\nab\xC3") }, "IncompleteBody", "ab"},
		"time is up": {slow(head + "\r\ndata: 1\n\n"), "Timeout", "data: 1\n\n"},
		"a page": {func(w io.Writer) {
			io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n<p>a<b>b")
		}, "IncompleteBody", "a**b**"},
		"an image": {func(w io.Writer) {
			io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 99\r\n\r\n\x89PNG\r\n\x1a\n")
		}, "IncompleteBody", ""},
	} {
		r := p.Run(t, "get", args(t, map[string]any{"url": raw(t, c.send), "timeout_seconds": 0.5}))
		wantError(t, r, c.fail)
		r.Error = nil
		if got := strings.TrimRight(body(t, r), "x"); got != c.want || got != "" && !reportOf(t, r).Truncated {
			t.Errorf("%s: got %q, structured %s", name, got, r.Structured)
		}
	}
}

// Once a POST has been sent no one knows what came of it, so that a program must not send it again by itself.
func TestPostThatMayHaveArrived(t *testing.T) {
	p := start(t, testHooks{}, open)
	for name, url := range map[string]string{"BadReply": raw(t, func(io.Writer) {}), "Timeout": raw(t, slow(head+"\r\n")),
		"IncompleteBody": raw(t, func(w io.Writer) { io.WriteString(w, head+"Content-Length: 9\r\n\r\nabc") })} {
		r := p.Run(t, "post", args(t, map[string]any{"url": url, "timeout_seconds": 0.5}))
		wantError(t, r, name, "may have done what it was asked for")
		if r.Error.Outcome != sdk.OutcomeUnknown {
			t.Errorf("%s: outcome %q", name, r.Error.Outcome)
		}
		if r.Error.Retryable {
			t.Errorf("%s is said to be safe to repeat", name)
		}
	}
}
