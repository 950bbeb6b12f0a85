//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A list that says how long it is valid is asked for again after that time, also when that failed once; one that does
// not say it is not.
func TestListIsReadAgainWhenItIsNotValidAnyMore(t *testing.T) {
	f := newFake(t, "one")
	f.leastTTL = time.Millisecond
	f.file("modern", "")
	f.file("ttl", `,"ttlMs":1`)
	f.start("")
	f.file("tools", "no list") // not JSON
	lists := len(f.lines("lists"))
	eventually(t, "it is asked again", func() bool { return len(f.lines("lists")) > lists+2 })
	f.list("one", "two")
	eventually(t, "the new tool is there", func() bool { return slices.Equal(f.names(), []string{"one", "two"}) })
	f.file("ttl", "")
	u, err := f.upstreams.use(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer u.release()
	eventually(t, "no list is asked for any more", func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.expiry == nil
	})
}

// A server that has no tools and can announce none is not waited for, whatever it says of itself: it offers no stream
// for that, or refuses the subscription, or says that its list does not change.
func TestServerThatCannotAnnounceTools(t *testing.T) {
	modern := `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`
	for name, c := range map[string]struct{ discover, listen, capabilities, stream string }{
		"no stream":              {"", "", `{"tools":{"listChanged":true}}`, "405 Method Not Allowed"},
		"no such stream":         {"", "", `{"tools":{"listChanged":true}}`, "404 Not Found"},
		"no changes":             {"", "", `{"tools":{}}`, "200 OK"},
		"no subscriptions":       {modern, `"error":{"code":-32601,"message":"unknown"}`, "", ""},
		"no such method":         {modern, "", "", ""},
		"subscription that ends": {modern, `"result":{"resultType":"complete"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					status, _ := strconv.Atoi(c.stream[:3])
					w.Header().Set("Content-Type", "text/event-stream")
					w.WriteHeader(status)
					if _ = http.NewResponseController(w).Flush(); status == http.StatusOK {
						<-r.Context().Done()
					}
					return
				}
				var in fakeRequest
				_ = json.NewDecoder(r.Body).Decode(&in)
				answer := ""
				switch in.Method {
				case "server/discover":
					answer = `"result":` + c.discover
				case "subscriptions/listen":
					answer = c.listen
				case "initialize":
					answer = `"result":{"protocolVersion":"2025-11-25","capabilities":` + c.capabilities + `}`
				case "tools/list":
					answer = `"result":{"resultType":"complete","tools":[]}`
				}
				switch {
				case in.ID == nil:
					w.WriteHeader(http.StatusAccepted)
				case answer == "" || answer == `"result":`:
					w.WriteHeader(http.StatusNotFound)
				default:
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, in.ID, answer)
				}
			}))
			defer server.Close()
			f := newFake(t)
			defer f.close() // before the server, which waits for its streams
			f.hasNoTools(config{URL: server.URL})
		})
	}
	t.Run("no subscriptions of a program", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.file("modern", "")
		f.hasNoTools(config{Command: []string{os.Args[0]}, Env: map[string]string{"FAKE_SERVER": f.dir}})
	})
}

// hasNoTools configures the plugin, whose server has no tools and is not to be waited for.
func (f *fake) hasNoTools(c config) {
	f.t.Helper()
	f.emptyTime = time.Hour
	if err := f.configure(f.t.Context(), &sdk.Request{Workdir: f.dir}, c); err != nil {
		f.t.Fatal(err)
	}
	d, err := f.Describe(f.t.Context())
	if err != nil || d.Missing != "" || len(d.Notices) != 1 || !strings.HasSuffix(d.Notices[0].Text, " has no tools") {
		f.t.Errorf("%+v, %v", d, err)
	}
}

// A list that the end of the plugin cuts off is no trouble: a host would keep it with the tools.
func TestEndWhileListingAgain(t *testing.T) {
	f := newFake(t, "one")
	f.start("")
	u, err := f.upstreams.use(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer u.release()
	f.end()
	u.relist(u.session, "it announced a change, but ")
	if d, err := f.Describe(t.Context()); err != nil || len(d.Tools) != 1 || len(d.Notices) != 0 {
		t.Errorf("%d tools, %v, %v", len(d.Tools), d.Notices, err)
	}
}
