//go:build unix

package conformance

import (
	"bufio"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A server is a `toolhost mcp --http` that runs until the test ends.
type server struct {
	url string
	mu  sync.Mutex
	log strings.Builder
}

var listening = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+[^\s"']*`)

// serve starts a server, and returns when it has printed its address on standard error.
func (b *bed) serve(args ...string) *server {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := b.command(ctx, append([]string{"mcp", "--http", "127.0.0.1:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		b.t.Fatal(err)
	}
	s, found, ended := &server{}, make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			if url := listening.FindString(lines.Text()); url != "" && len(found) == 0 {
				found <- url
			}
			s.mu.Lock()
			fmt.Fprintln(&s.log, lines.Text())
			s.mu.Unlock()
		}
	}()
	b.t.Cleanup(func() {
		cancel() // asks it to end
		<-ended
		_ = cmd.Wait() // it was asked to end
		b.checkText("the log of toolhost mcp", []byte(s.logged()))
	})
	select {
	case s.url = <-found:
	case <-ended:
		b.t.Fatalf("toolhost mcp ended:\n%s", s.logged())
	case <-time.After(time.Minute):
		b.t.Fatalf("toolhost mcp prints no address:\n%s", s.logged())
	}
	return s
}

func (s *server) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}
