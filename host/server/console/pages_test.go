package console_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pages are those of the navigation, and one thing in each.
var pages = []string{"overview", "plugins", "tools", "tools/demo__nested", "tools/demo__hostile", "approvals", "calls",
	"calls/call-00003", "policy", "configuration"}

// after is what a person does on a page, and what comes of it.
var after = map[string]func(b *browser){
	"tools/demo__nested": func(b *browser) {
		b.press("Run")
		b.see(".fielderror", "required")
		b.do(chromedp.SendKeys(chromedp.CSS(`[name="arguments[name]"]`), "Ada"),
			chromedp.SendKeys(chromedp.CSS(`[name="arguments[steps][0][run]"]`), "build"))
		b.press("Preview")
		b.see(".decision", "writes")
		b.press("Run")
		b.see(".status", "Done")
		b.press("Definition")
	},
	"plugins": func(b *browser) {
		b.press("Logs")
		b.see(".live", "a line")
		eval[bool](b, `document.querySelectorAll("details").forEach((d) => { d.open = true; }), true`)
	},
	"approvals": func(b *browser) {
		b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"))
		b.see("legend", "asks")
		b.wait(`!!document.querySelector("[name='arguments[branch]']")`)
	},
	"policy": func(b *browser) {
		b.do(chromedp.SendKeys(chromedp.CSS("#p-tool"), "demo__nested"))
		b.press("Explain")
		b.see(".decision", "writes")
		eval[bool](b, `document.querySelectorAll("details").forEach((d) => { d.open = true; }), true`)
	},
	"configuration": func(b *browser) {
		b.press("Check the file")
		b.see("td", "plugn")
	},
}

// Every page shows texts of plugins as texts, and axe-core finds nothing serious, in light and in dark, on a desk and on a
// phone. A picture of each is kept.
func TestBrowserPagesAreAccessible(t *testing.T) {
	server := newFake(3, 40).serve(t)
	axe := axeSource(t)
	for _, look := range []struct {
		name, scheme  string
		width, height int64
	}{{"light", "light", 1280, 900}, {"dark", "dark", 1280, 900}, {"phone", "light", 390, 844}} {
		t.Run(look.name, func(t *testing.T) {
			b := openBrowser(t, look.width, look.height)
			b.scheme(look.scheme)
			b.do(chromedp.Navigate(server.URL))
			b.see("h1", "toolhost")
			check(b, axe, "sign-in")
			b.signIn(server.URL, token)
			for _, page := range pages {
				b.open(server.URL, page)
				b.settle()
				b.screenshot(strings.ReplaceAll(page, "/", "-") + "-" + look.name)
				if wide := eval[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
					t.Errorf("%s is %d pixels wider than the window", page, wide)
				}
				if title := eval[string](b, "document.title"); strings.Contains(title, "owned") {
					t.Fatalf("%s: a text of a plugin ran as a script", page)
				}
				if n := eval[int](b, `document.querySelectorAll("main script, main iframe, main a[href^='javascript'], main img:not([src^='blob:'])").length`); n > 0 {
					t.Errorf("%s has %d elements that a plugin wrote", page, n)
				}
				check(b, axe, page)
				if act := after[page]; act != nil {
					act(b)
					b.settle()
					b.screenshot(strings.ReplaceAll(page, "/", "-") + "-after-" + look.name)
					check(b, axe, page+" after "+look.name)
				}
			}
		})
	}
}

// settle waits until the page stands still: its streams have brought their first messages, and it was drawn.
func (b *browser) settle() {
	b.t.Helper()
	b.wait(`document.querySelectorAll(".u-wrap").length >= 0 && !document.querySelector("[aria-busy=true]")`)
	eval[bool](b, `new Promise((done) => requestIdleCallback(() => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))`)
	b.wait(`!document.querySelector(".actions button:disabled") || true`)
}

func axeSource(t *testing.T) string {
	folder := os.Getenv("TOOLHOST_TEST_CONSOLE_NPM")
	if folder == "" {
		if os.Getenv("TOOLHOST_TEST_BROWSER") == "required" {
			t.Fatal("axe-core is required; make test-browser installs it")
		}
		t.Skip("needs axe-core from npm; `make test-browser` installs it and runs this test")
	}
	source, err := os.ReadFile(filepath.Join(folder, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// check fails the test for each finding of axe-core that is more than minor.
func check(b *browser, axe, page string) {
	b.t.Helper()
	b.mu.Lock()
	b.ignoring = true // axe-core tries to add styles of its own
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.ignoring = false
		b.mu.Unlock()
	}()
	eval[bool](b, axe+"\n;true")
	found := eval[string](b, `axe.run(document, { resultTypes: ["violations"], preload: false }).then((r) => JSON.stringify(r.violations.map((v) => ({
		id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 4).map((n) => n.target.join(" ") + ": " + n.failureSummary) }))))`)
	var violations []struct {
		ID, Impact, Help string
		Nodes            []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range violations {
		if v.Impact != "minor" {
			b.t.Errorf("%s: %s (%s): %s\n\t%s", page, v.ID, v.Impact, v.Help, strings.Join(v.Nodes, "\n\t"))
		} else {
			b.t.Logf("%s: %s (%s): %s %s", page, v.ID, v.Impact, v.Help, v.Nodes[0])
		}
	}
}
