package telemetry

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// collectorVariable makes the test binary a collector, in a process of its own, whose time is not telemetry's.
const collectorVariable = "TOOLHOST_TEST_COLLECTOR"

// serveCollector is the main function of the collector, which drops what it receives.
func serveCollector() {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(1)
	}
	fmt.Println("http://" + l.Addr().String())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }() // ends with the test
	_ = http.Serve(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	os.Exit(1)
}
