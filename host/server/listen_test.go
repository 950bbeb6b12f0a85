package server

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"
)

// wildcard is a listener of one address that says it is one of all.
type wildcard struct{ net.Listener }

func (w wildcard) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4zero, Port: w.Listener.Addr().(*net.TCPAddr).Port}
}

// A server that listens at all addresses is reached by the names of this machine, and by the address that a connection
// was made to; by no other name, which may lead here by a trick of the DNS.
func TestListenerOfAllAddresses(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.2:0")
	if err != nil {
		t.Skip("this system has one loopback address alone")
	}
	s := (&setup{}).start(t)
	other, err := New(s.server.options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- other.Serve(ctx, func() time.Duration { return patience }, Listener{Listener: wildcard{l}})
	}()
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	for name, want := range map[string]int{"localhost": 200, "127.0.0.1": 200, "127.0.0.2": 200, "127.0.0.3": 403,
		"evil.test": 403} {
		r, err := http.NewRequest(http.MethodGet, "http://"+address+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = net.JoinHostPort(name, port)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
