package console_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds one step of a test in a browser.
const patience = time.Minute

// A browser is a tab of a real Chromium, which fails the test on what a console must never do: a refusal by the content
// security policy, an error of a script, a request to another origin.
type browser struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	problems []string
	expected []string // parts of problems that are meant to happen
	ignoring bool     // while a checker of the test works in the page
}

// chromium starts one Chromium for all tests of the process.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.NoSandbox,
		chromedp.Flag("host-resolver-rules", "MAP evil.test 127.0.0.1"), chromedp.WSURLReadTimeout(patience))
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	endChromium = func() { _ = chromedp.Cancel(ctx) }
	return ctx, chromedp.Do(ctx)
})

// endChromium is nil while none was started.
var endChromium func()

// TestMain ends the browser with the tests. As the program of a plugin this one is that plugin.
func TestMain(m *testing.M) {
	if os.Getenv(pluginVariable) != "" {
		serveBranches()
		return
	}
	code := m.Run()
	if endChromium != nil {
		endChromium()
	}
	os.Exit(code)
}

// needBrowser skips the test unless `make test-browser` runs it.
func needBrowser(t testing.TB) {
	t.Helper()
	if os.Getenv("TOOLHOST_TEST_BROWSER") == "" {
		t.Skip("needs Chromium; `make test-browser` runs this test")
	}
}

// openBrowser opens a tab with cookies and storage of its own.
func openBrowser(t testing.TB, width, height int64) *browser {
	t.Helper()
	needBrowser(t)
	parent, err := chromium()
	if err != nil {
		if os.Getenv("TOOLHOST_TEST_BROWSER") == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return openTab(t, parent, width, height, chromedp.WithNewBrowserContext())
}

// window opens another window of the same person, with the same cookies, storage, locks and connections.
func (b *browser) window(width, height int64) *browser {
	b.t.Helper()
	return openTab(b.t, b.ctx, width, height)
}

func openTab(t testing.TB, parent context.Context, width, height int64, options ...chromedp.ContextOption) *browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	b.do(command(network.Enable, network.EnableParams{}), command(log.Enable, cdp.Empty{}),
		command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height,
			DeviceScaleFactor: 1, Mobile: width < 500}))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.problems {
			t.Errorf("the browser says: %s", p)
		}
	})
	return b
}

// command is an action that sends one command of the protocol.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

func (b *browser) listen(event any) {
	problem := ""
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Source == log.EntrySourceSecurity ||
			e.Entry.Source == log.EntrySourceViolation {
			problem = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventExceptionThrown:
		problem = e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			problem += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			for _, a := range e.Args {
				problem += string(a.Value) + a.Description
			}
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, "http://127.0.0.1:") && !strings.HasPrefix(u, "blob:") &&
			!strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "about:") {
			problem = "request to " + u
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if problem == "" || b.ignoring {
		return
	}
	for _, e := range b.expected {
		if strings.Contains(problem, e) {
			return
		}
	}
	b.problems = append(b.problems, problem)
}

// expect names a part of problems that are no failure from now on.
func (b *browser) expect(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, part)
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.fatal(err)
	}
}

func (b *browser) fatal(err error) {
	b.t.Helper()
	b.screenshot("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
	b.t.Fatal(err)
}

// eval returns the value of an expression; a promise is waited for.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.fatal(fmt.Errorf("%s: %w", expression, err))
	}
	return out
}

// wait waits until an expression is true, also while the page is loaded again. It is the page that waits, in steps of
// 20 ms; chromedp.Poll compiles the expression in the page, which the content security policy forbids.
func (b *browser) wait(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`new Promise((done) => {
			const look = () => { let is = false; try { is = `+expression+` } catch {}; is ? done(true) : setTimeout(look, 20); };
			look(); })`, chromedp.EvalAwaitPromise))
		switch {
		case err == nil:
			return
		case ctx.Err() != nil:
			b.fatal(fmt.Errorf("after %s it is not true that %s", patience, expression))
		}
	}
}

// see waits until an element has a text in it.
func (b *browser) see(selector, text string) {
	b.t.Helper()
	b.wait(`[...document.querySelectorAll(` + quote(selector) + `)].some((e) => e.innerText.includes(` + quote(text) + `))`)
}

// press clicks the button, link or tab of that name.
func (b *browser) press(name string) {
	b.t.Helper()
	b.pressIn("body", name)
}

// pressIn is press for what is inside of an element.
func (b *browser) pressIn(selector, name string) {
	b.t.Helper()
	find := `[...document.querySelector(` + quote(selector) + `).querySelectorAll("button,a,summary")].find((e) => e.textContent.trim() === ` + quote(name) +
		` && e.offsetParent && !e.disabled)`
	b.wait("!!" + find)
	eval[bool](b, "("+find+").click(), true")
}

// answerable waits until the buttons of the question that is shown answer it.
func (b *browser) answerable() {
	b.t.Helper()
	b.wait(`document.querySelector(".actions button.primary:not(:disabled)")`)
}

// screenshot keeps a picture in the folder that TOOLHOST_TEST_BROWSER_OUT names.
func (b *browser) screenshot(name string) {
	folder := os.Getenv("TOOLHOST_TEST_BROWSER_OUT")
	if folder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Logf("no picture: %v", err)
		return
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		b.t.Error(err)
	}
}

// signIn opens the address that toolhost serve prints.
func (b *browser) signIn(url, token string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url + "/#token=" + token))
	b.wait(`!!document.querySelector("nav")`)
}

// open shows a page and waits until it has drawn itself.
func (b *browser) open(url, page string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url + "/#/" + page))
	b.wait(`document.querySelector("main .page")?.getAttribute("aria-busy") === "false"`)
}

// scheme makes the system light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	b.do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}))
}
