package sdk

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/test/bufconn"
)

// clientOfHTTP connects to a server that is no gRPC library, and so holds to none of its rules.
func clientOfHTTP(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	s := &http.Server{Handler: h, Protocols: new(http.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	conn := dialMemory(t, lis)
	t.Cleanup(func() {
		_ = conn.Close()
		_ = s.Close()
		<-served
	})
	return NewClient(conn)
}

// Headers are read up to 64 KiB: a call that has more of them is broken, and takes no more memory.
func TestLimitOfHeaders(t *testing.T) {
	const others = len("grpc-status") + len("13") + 32 + len("grpc-message") + 32 // as HTTP/2 counts
	for name, c := range map[string]struct {
		message int
		words   string
	}{
		"at the limit":  {64<<10 - others, "broke: " + xs(4096) + "... (cut) (Internal)"},
		"one byte over": {64<<10 - others + 1, "header list size"},
		"far over":      {8 << 20, "broke: "},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientOfHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/grpc")
				w.WriteHeader(http.StatusOK)
				w.(http.Flusher).Flush()
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", "13")
				w.Header().Set(http.TrailerPrefix+"Grpc-Message", xs(c.message))
			})
			_, err := client.Call(t.Context(), &Request{Tool: "x"})
			if _, ok := errors.AsType[*BrokenError](err); !ok || !strings.Contains(err.Error(), c.words) || len(err.Error()) > 5000 {
				t.Errorf("the call gives %.5000v, want %.200q", err, c.words)
			}
		})
	}
}

// A message tells its size first, and one over the limit is not read.
func TestToldSizeOfAMessage(t *testing.T) {
	for name, c := range map[string]struct {
		size  int
		words string
	}{
		"at the limit": {maxMessage, "unexpected EOF"},
		"one above":    {maxMessage + 1, "one message that is too large"},
		"1 GiB":        {1 << 30, "one message that is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientOfHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/grpc")
				_, _ = w.Write([]byte{0, byte(c.size >> 24), byte(c.size >> 16), byte(c.size >> 8), byte(c.size)})
			})
			_, err := client.Call(t.Context(), &Request{Tool: "x"})
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("the call gives %v, want %q", err, c.words)
			}
		})
	}
}
