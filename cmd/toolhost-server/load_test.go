package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// loadTime is how long the clients of TestManyClientsWhilePluginsAreKilled call; `make load` has them call for ten
// minutes.
var loadTime = flag.Duration("load.for", 0, "how long the clients call; each makes 20 calls at least")

// api posts JSON to a method, and reads the answer.
func api(client *http.Client, url, token, method, body string, out any) error {
	r, err := http.NewRequest(http.MethodPost, url+"/toolhost.api.v1."+method, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(out)
}

// TestManyClientsWhilePluginsAreKilled has 64 clients call over the API while the plugin is killed again and again. Each
// call has one result, and it is the tool's or says what has happened to the plugin. The memory of the host stays what it
// was after a fifth of a long run.
func TestManyClientsWhilePluginsAreKilled(t *testing.T) {
	h := newHome(t).withPlugin(t, "plugin \"readfile\" {\n  restart {\n    max_crashes = 1000\n    backoff     = \"10ms\"\n"+
		"    backoff_max = \"20ms\"\n  }\n}\n")
	url, token, _ := h.serving(t)
	defer h.awaitNone(t)
	defer func() { expect(t, h.run(t, "serve", "--stop"), "stops") }()
	const clients, calls = 64, 20
	until := time.Now().Add(*loadTime)
	var done, ended, ok, crashed atomic.Int64
	var callers sync.WaitGroup
	for range clients {
		callers.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			defer ended.Add(1)
			for i := 0; i < calls || time.Now().Before(until); i++ {
				var r struct {
					Status  string
					Content []struct{ Text string }
					Error   struct{ Code, Message string }
				}
				err := api(client, url, token, "HostService/CallOnce",
					`{"tool":"readfile__read","arguments":"{\"path\":\"note.txt\"}"}`, &r)
				done.Add(1)
				switch {
				case err != nil:
					t.Errorf("a call has no result: %v", err)
					return
				case r.Status == "ok" && len(r.Content) > 0 && r.Content[0].Text == "a note\n":
					ok.Add(1)
				case strings.HasPrefix(r.Error.Code, "E_PLUGIN_"):
					crashed.Add(1)
				default:
					t.Errorf("a call ends as %+v", r)
				}
			}
		})
	}
	killer := &http.Client{Transport: &http.Transport{}}
	defer killer.CloseIdleConnections()
	var info struct{ Pid int }
	if err := api(killer, url, token, "HostService/GetInfo", "{}", &info); err != nil {
		t.Fatal(err)
	}
	kills, early, latest := 0, 0, 0
	for limit := until.Add(10 * time.Minute); ended.Load() < clients && !t.Failed(); {
		if time.Now().After(limit) {
			t.Fatal("the calls do not end")
		}
		var all struct{ Plugins []struct{ Pid int } }
		if err := api(killer, url, token, "PluginService/List", "{}", &all); err != nil {
			t.Fatal(err)
		}
		for _, p := range all.Plugins {
			if p.Pid == 0 {
				continue
			}
			if process, err := os.FindProcess(p.Pid); err == nil && process.Kill() == nil {
				kills++
			}
		}
		latest = resident(info.Pid)
		if early == 0 && time.Until(until) < *loadTime*4/5 {
			early = latest
		}
		next, before := time.Now().Add(min(time.Second, *loadTime)), done.Load()
		for (done.Load() < before+clients || time.Now().Before(next)) && ended.Load() < clients && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
	}
	callers.Wait()
	t.Logf("%d calls, %d answered, %d of a killed plugin, %d kills; the host has %d MiB, after a fifth of the time it had %d",
		done.Load(), ok.Load(), crashed.Load(), kills, latest>>20, early>>20)
	if ok.Load() == 0 || ok.Load()+crashed.Load() != done.Load() || done.Load() < clients*calls {
		t.Error("calls were lost")
	}
	if *loadTime >= time.Minute && latest > early+early/3+16<<20 {
		t.Errorf("the memory of the host grows: from %d to %d bytes", early, latest)
	}
}

// resident is the resident memory of a process in bytes, 0 where the system does not say.
func resident(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var all, pages int
	if _, err := fmt.Sscan(string(text), &all, &pages); err != nil {
		return 0
	}
	return pages * os.Getpagesize()
}
