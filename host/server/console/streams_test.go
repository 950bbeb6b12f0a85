package console_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/toolhost/toolhost/host/api/apiv1"
)

// Browsers open six connections to a host for all of their windows: three that are looked at, each on a page with several
// watches, and the logs of five plugins leave some for requests, and each is drawn and answered.
func TestBrowserSharesItsConnections(t *testing.T) {
	f := newFake(2, 2)
	for i := range 5 {
		f.running = append(f.running, &apiv1.Plugin{Name: fmt.Sprint("plugin", i), State: "ready"})
	}
	server := f.serve(t)
	first := openBrowser(t, 1200, 900)
	first.signIn(server.URL, token)
	first.open(server.URL, "overview")
	second, third := first.window(1200, 900), first.window(1200, 900)
	second.open(server.URL, "overview")
	third.open(server.URL, "plugins")
	for i := range 5 {
		third.pressIn(fmt.Sprint("#plugin-plugin", i), "Logs")
		third.see(fmt.Sprintf("#plugin-plugin%d .live", i), fmt.Sprint("the log of plugin", i))
	}
	for _, b := range []*browser{first, second, third} {
		if hidden := eval[bool](b, "document.hidden"); hidden {
			t.Fatal("a window is hidden: nothing is tested")
		}
		b.see("nav", "3") // what waits
	}
	first.open(server.URL, "approvals")
	second.open(server.URL, "approvals")
	third.do(chromedp.Reload())
	for _, b := range []*browser{first, second} {
		b.see("h2", "demo__nested")
	}
	third.see("h2", "plugin4")
	for _, b := range []*browser{first, second, third} { // each is still answered
		if version := eval[string](b, `import("/console/api.js").then((m) => m.host.getInfo({})).then((i) => i.version)`); version == "" {
			t.Error("a request has no answer")
		}
	}
	// What one window answers, the others see, with a stream or without.
	first.answerable()
	first.do(chromedp.KeyEvent("a"))
	second.see("h2", "demo__hostile")
	third.see("nav", "2")
}
