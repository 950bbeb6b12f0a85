package main

import (
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// loadSteps is how many calls each of the 64 clients makes; a long run takes more, such as -load.steps 20000.
var loadSteps = flag.Int("load.steps", 20, "calls of each client")

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
// call has one result, and it is the tool's or says what has happened to the plugin.
func TestManyClientsWhilePluginsAreKilled(t *testing.T) {
	h := newHome(t).withPlugin(t, "plugin \"readfile\" {\n  restart {\n    max_crashes = 1000\n    backoff     = \"10ms\"\n"+
		"    backoff_max = \"20ms\"\n  }\n}\n")
	url, token, _ := h.serving(t)
	defer h.awaitNone(t)
	defer func() { expect(t, h.run(t, "serve", "--stop"), "stops") }()
	const clients = 64
	var done, ok, crashed atomic.Int64
	var callers sync.WaitGroup
	for range clients {
		callers.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for range *loadSteps {
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
	kills := 0
	for limit := time.Now().Add(10 * time.Minute); done.Load() < clients*int64(*loadSteps) && !t.Failed(); {
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
		before := done.Load()
		for done.Load() < min(before+clients, clients*int64(*loadSteps)) && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
	}
	callers.Wait()
	t.Logf("%d calls, %d answered, %d of a killed plugin, %d kills", done.Load(), ok.Load(), crashed.Load(), kills)
	if ok.Load() == 0 || ok.Load()+crashed.Load() != clients*int64(*loadSteps) {
		t.Error("calls were lost")
	}
}
