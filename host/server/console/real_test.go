package console_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/toolhost/toolhost/sdk"
)

// A realHost is a toolhost-server with the plugins of this project, in folders of its own.
type realHost struct {
	t                  testing.TB
	url, token         string
	bin, folder, state string
	stop               func()
}

const realConfig = `
plugin_dirs = [%q]

audit {
  content = true
}

policy "project" {
  rule "loops" {
    tools  = ["shell__*"]
    when   = matches("^for ", args.command)
    effect = "allow"
  }
  rule "dates" {
    tools  = ["shell__*"]
    effect = "ask"
    reason = "commands are asked about"
  }
}
`

// pluginVariable makes this program a plugin.
const pluginVariable = "TOOLHOST_TEST_CONSOLE_PLUGIN"

type branchForm struct {
	Branch string `json:"branch" jsonschema:"The branch to start from"`
	Depth  int    `json:"depth" jsonschema:"How many commits"`
}

// serveBranches serves a tool that asks the person for a branch, and one that ends the plugin.
func serveBranches() {
	p := sdk.New("branches", "1.0.0")
	safe := sdk.Hints{ReadOnly: sdk.Yes}
	sdk.AddTool(p, sdk.Tool{Name: "pick", Description: "Picks a branch.", Hints: safe},
		func(ctx context.Context, r *sdk.Request, _ struct{}) (*sdk.Result, error) {
			a, err := sdk.Ask[branchForm](ctx, r, "Which branch?")
			if err != nil {
				return nil, err
			}
			return sdk.Textf("%s: %s, %d commits", a.Action, a.Value.Branch, a.Value.Depth), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "exit", Description: "Ends the plugin.", Hints: safe},
		func(context.Context, *sdk.Request, struct{}) (*sdk.Result, error) {
			os.Exit(3)
			return nil, nil
		})
	sdk.Serve(p)
}

// branches is the block of that plugin.
func branches(more string) string {
	return fmt.Sprintf("plugin \"branches\" {\n  command = [%q]\n  env     = { %s = \"1\" }\n%s}\n", os.Args[0],
		pluginVariable, more)
}

// startHost runs what make build made, with more in its configuration, for a test in a browser.
func startHost(t testing.TB, more ...string) *realHost {
	t.Helper()
	needBrowser(t)
	bin, err := filepath.Abs("../../../bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "toolhost-server")); err != nil {
		if os.Getenv("TOOLHOST_TEST_BROWSER") == "required" {
			t.Fatal(err)
		}
		t.Skip("needs toolhost-server; make test-browser builds it")
	}
	h := &realHost{t: t, bin: bin, folder: t.TempDir(), state: t.TempDir()}
	config := fmt.Sprintf(realConfig, bin) + strings.Join(more, "")
	if err := os.WriteFile(filepath.Join(h.folder, "config.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start("127.0.0.1:0")
	return h
}

// start runs the host, until the test ends or stop is called.
func (h *realHost) start(address string) {
	h.t.Helper()
	server := h.command("toolhost-server", "--config", "config.hcl", "--address", address)
	out, err := server.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.stop = sync.OnceFunc(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
	})
	h.t.Cleanup(h.stop)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if at, found := strings.CutPrefix(lines.Text(), "serving at http"); found {
			h.url, h.token, _ = strings.Cut("http"+at, "/#token=")
			return
		}
	}
	h.t.Fatal("toolhost-server printed no address")
}

// command is a program of ours in the host's work folder, with a home of its own.
func (h *realHost) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), filepath.Join(h.bin, name), args...)
	cmd.Dir = h.folder
	cmd.Env = append(os.Environ(), "HOME="+h.state, "XDG_RUNTIME_DIR="+h.state, "XDG_STATE_HOME="+h.state+"/state",
		"XDG_CONFIG_HOME="+h.state+"/config", "XDG_CACHE_HOME="+h.state+"/cache")
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd
}

// Every page of a real host is drawn, and a call brings its output while it runs.
func TestBrowserWithARealHost(t *testing.T) {
	h := startHost(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(h.url, h.token)
	for _, page := range []string{"overview", "plugins", "tools", "approvals", "calls", "policy", "configuration"} {
		b.open(h.url, page)
		b.settle()
		b.screenshot("real-" + page)
	}
	b.open(h.url, "tools/shell__exec")
	b.do(chromedp.WaitVisible(chromedp.CSS(`[name="arguments[command]"]`)), chromedp.SendKeys(chromedp.CSS(
		`[name="arguments[command]"]`), `for i in 1 2 3; do echo line $i; done; while [ ! -e go ]; do sleep 0.05; done; echo over`))
	b.press("Run")
	b.see(".live", "line 3") // while it runs
	if text := eval[string](b, `document.querySelector(".status").textContent`); strings.HasPrefix(text, "Done") {
		t.Errorf("the call has ended: %s", text)
	}
	if err := os.WriteFile(filepath.Join(h.folder, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.see(".status", "Done")
	b.see(".result", "over")
	b.screenshot("real-call")
	b.open(h.url, "calls")
	b.wait(`(() => { if (document.querySelector(".vrow")) return true;
		document.querySelector(".filters").requestSubmit(); return false; })()`) // the index follows the record
	b.screenshot("real-history")
	eval[bool](b, `document.querySelector(".vrow").click(), true`)
	b.see("h2", "shell__exec")
	b.see(".decision", "loops")
	b.see(".code", "line 3")
	b.screenshot("real-story")
	b.open(h.url, "overview")
	b.see(".tile", "1")
	b.open(h.url, "policy")
	b.do(chromedp.SendKeys(chromedp.CSS("#p-tool"), "shell__exec"), chromedp.SetValue(chromedp.CSS("#p-args"), `{"command":"date"}`))
	b.press("Explain")
	b.see(".decision", "dates")
	b.see("td", "plan")
	b.screenshot("real-explained")
	b.open(h.url, "configuration")
	path := filepath.Join(h.folder, "config.hcl")
	if err := os.WriteFile(path, []byte("plugn \"x\" {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.press("Check the file")
	b.see("td", "plugn")
	b.screenshot("real-mistakes")
}

// Who looks at a plugin sees it die and come back, with what it printed.
func TestBrowserSeesAPluginDie(t *testing.T) {
	h := startHost(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(h.url, h.token)
	b.open(h.url, "tools") // lists the plugins' tools, and starts them
	b.see(".list", "shell__exec")
	b.open(h.url, "plugins")
	b.see("#plugin-shell .pill", "ready")
	pid := eval[int](b, `+[...document.querySelectorAll("#plugin-shell .facts div")].find((d) => d.firstChild.textContent === "Process").lastChild.textContent`)
	b.pressIn("#plugin-shell", "Logs")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.see("#plugin-shell .pill", "crashed")
	b.see("#plugin-shell summary", "Last crash")
	b.see("#plugin-shell .problem", "killed by SIGKILL")
	b.screenshot("real-crash")
	if status := eval[string](b, `import("/console/api.js").then((m) => m.host.callOnce({ tool: "shell__exec",
		arguments: '{"command":"for i in 1; do echo $i; done"}' })).then((r) => r.status)`); status != "ok" {
		t.Errorf("the next call ended with %s", status)
	}
	b.see("#plugin-shell .facts", "2, 1 restart")
	b.see("#plugin-shell .pill", "ready")
	now := eval[int](b, `+[...document.querySelectorAll("#plugin-shell .facts div")].find((d) => d.firstChild.textContent === "Process").lastChild.textContent`)
	if now == pid {
		t.Errorf("the page still shows the process %d", pid)
	}
	b.pressIn("#plugin-shell", "Reload")
	b.see("#announcements", "shell was reloaded")
	b.see("#plugin-shell .facts", "3, 1 restart")
}

// A plugin that has crashed too often is reset in the page, and then starts at the next call.
func TestBrowserResetsAPlugin(t *testing.T) {
	h := startHost(t, branches("  restart {\n    max_crashes = 1\n  }\n"))
	b := openBrowser(t, 1200, 900)
	b.signIn(h.url, h.token)
	b.open(h.url, "plugins")
	b.see("h2", "branches")
	exit := `import("/console/api.js").then((m) => m.host.callOnce({ tool: "branches__exit", arguments: "{}" })).then((r) => r.status)`
	for range 2 {
		if status := eval[string](b, exit); status != "error" {
			t.Fatalf("the call ended with %s", status)
		}
	}
	b.see("#plugin-branches .pill", "quarantined")
	b.see("#plugin-branches .problem", "exited with code 3")
	b.screenshot("real-quarantine")
	b.pressIn("#plugin-branches", "Reset")
	b.see("#announcements", "branches was reset")
	b.see("#plugin-branches .pill", "known")
	if status := eval[string](b, exit); status != "error" {
		t.Errorf("the call after the reset ended with %s", status)
	}
	b.see("#plugin-branches .pill", "crashed") // it was started again
}

// What a tool asks during a call of a terminal is answered in the page, by a form, or declined.
func TestBrowserAnswersATool(t *testing.T) {
	h := startHost(t, branches(""))
	b := openBrowser(t, 1200, 900)
	b.signIn(h.url, h.token)
	b.open(h.url, "approvals")
	for press, want := range map[string]string{"Answer": "accept: main, 3 commits", "Decline": "decline: , 0 commits"} {
		call := h.command("toolhost", "call", "--config", "config.hcl", "branches__pick")
		var out strings.Builder
		call.Stdout = &out
		if err := call.Start(); err != nil {
			t.Fatal(err)
		}
		b.see("p", "Which branch?")
		b.wait(`document.querySelector(".actions button.primary:not(:disabled)") && document.querySelector('[name$="[depth]"]')`)
		if press == "Answer" {
			b.do(chromedp.SendKeys(chromedp.CSS(`[name$="[branch]"]`), "main"), chromedp.SendKeys(chromedp.CSS(`[name$="[depth]"]`), "3"))
			b.screenshot("real-question")
		}
		b.press(press)
		if err := call.Wait(); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("after %s the call ended with %v:\n%s", press, err, &out)
		}
		b.see(".list", "Nothing waits")
	}
}

// A page goes on when the host is started again, without another sign-in.
func TestBrowserSurvivesARestart(t *testing.T) {
	h := startHost(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(h.url, h.token)
	b.open(h.url, "plugins")
	b.see("h2", "shell")
	b.wait(`["overview", "calls", "tools"].every((n) => performance.getEntriesByType("resource").some((r) => r.name.includes("/pages/" + n)))`)
	b.expect("ERR_")
	url := h.url
	h.stop()
	b.see(".connection", "Not connected")
	b.press("Overview") // while the host is away nothing is claimed of it
	b.see(".problem", "The host does not answer")
	b.see(".empty", "not known")
	if tiles := eval[string](b, `[...document.querySelectorAll(".tile dd")].map((e) => e.textContent).join("")`); tiles != strings.Repeat("\u2013", 6) {
		t.Errorf("the overview shows %s", tiles)
	}
	b.press("Tools")
	b.see(".problem", "The host does not answer")
	b.screenshot("real-away")
	h.start(strings.TrimPrefix(url, "http://"))
	b.wait(`document.querySelector(".connection").textContent === ""`)
	b.see(".list", "shell__exec") // by itself
	b.press("Overview")
	b.see(".empty", "No call runs")
	b.press("Tools")
	b.see(".list", "shell__exec")
}

// A call that a rule asks about waits in its terminal, and a person says yes in the page.
func TestBrowserApprovesACallOfATerminal(t *testing.T) {
	h := startHost(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(h.url, h.token)
	b.open(h.url, "approvals")
	for _, key := range []string{"a", "r"} {
		call := h.command("toolhost", "call", "--config", "config.hcl", "shell__exec", "command=date > now.txt")
		if err := call.Start(); err != nil {
			t.Fatal(err)
		}
		b.see("h2", "shell__exec")
		b.see(".code", "now.txt")
		b.screenshot("real-approval")
		b.answerable()
		if _, err := os.Stat(filepath.Join(h.folder, "now.txt")); err == nil {
			t.Fatal("the command ran before a person said yes")
		}
		b.do(chromedp.KeyEvent(key))
		err := call.Wait()
		b.see(".list", "Nothing waits")
		_, ran := os.Stat(filepath.Join(h.folder, "now.txt"))
		if approved := key == "a"; (err == nil) != approved || (ran == nil) != approved {
			t.Errorf("after %s the call ended with %v, and the command ran: %v", key, err, ran == nil)
		}
		_ = os.Remove(filepath.Join(h.folder, "now.txt"))
	}
}

// Pages of other origins, other names for the address, and frames get nothing.
func TestBrowserKeepsOtherPagesOut(t *testing.T) {
	h := startHost(t)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>evil</title><body>")
	}))
	t.Cleanup(evil.Close)
	b := openBrowser(t, 1200, 900)
	b.signIn(h.url, h.token)
	for _, part := range []string{"403", "CORS", "evil.test", "ERR_", "frame", "Framing", "X-Frame-Options", "blocked"} {
		b.expect(part)
	}

	t.Run("forged requests", func(t *testing.T) { // from another port, which is the same site for cookies
		b := b.with(t)
		b.do(chromedp.Navigate(evil.URL))
		for name, options := range map[string]string{
			"simple":      `{ method: "POST", mode: "no-cors", credentials: "include", headers: { "Content-Type": "text/plain" }, body: "{}" }`,
			"with cookie": `{ method: "POST", credentials: "include", headers: { "Content-Type": "application/json" }, body: "{}" }`,
			"read":        `{ credentials: "include" }`,
		} {
			got := eval[string](b, `fetch(`+quote(h.url+"/toolhost.api.v1.HostService/GetInfo")+`, `+options+
				`).then((r) => r.type + " " + r.status, (e) => "refused")`)
			if got != "refused" && got != "opaque 0" {
				t.Errorf("%s: %s", name, got)
			}
		}
	})
	t.Run("rebound name", func(t *testing.T) {
		b := b.with(t)
		_, port, _ := net.SplitHostPort(strings.TrimPrefix(h.url, "http://"))
		b.do(chromedp.Navigate("http://evil.test:" + port + "/"))
		if text := eval[string](b, "document.body.innerText"); !strings.Contains(text, "this server is not") {
			t.Errorf("the page says %q", text)
		}
		got := eval[string](b, `fetch("/toolhost.api.v1.HostService/GetInfo", { method: "POST", headers: { "Content-Type": "application/json" },
			body: "{}" }).then((r) => String(r.status), () => "refused")`)
		if got != "403" {
			t.Errorf("the API answers %s", got)
		}
	})
	t.Run("frame", func(t *testing.T) {
		b := b.with(t)
		b.do(chromedp.Navigate(evil.URL))
		eval[bool](b, `new Promise((done) => { const f = document.createElement("iframe"); f.src = `+quote(h.url+"/")+`;
			f.onload = () => done(true); document.body.append(f); })`)
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		tree, err := chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (*page.FrameTree, error) {
			out, err := cdp.Call(ctx, t, page.GetFrameTree, cdp.Empty{})
			return out.FrameTree, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(tree.ChildFrames) != 1 || !strings.HasPrefix(tree.ChildFrames[0].Frame.URL, "chrome-error:") {
			t.Errorf("the console is in a frame: %v", tree.ChildFrames)
		}
		b.screenshot("framed")
	})
	t.Run("stolen cookie", func(t *testing.T) { // as a program on another port of the host receives it
		cookie := h.cookie(b)
		status, _, body := request(t, "POST", h.url+"/toolhost.api.v1.HostService/GetInfo", "{}", func(r *http.Request) {
			r.Header.Set("Content-Type", "application/json")
			r.AddCookie(cookie)
		})
		if status != http.StatusUnauthorized {
			t.Errorf("a cookie alone is answered with %d: %s", status, body)
		}
	})
}

// with is the same tab in a subtest.
func (b *browser) with(t *testing.T) *browser {
	return &browser{t: t, ctx: b.ctx}
}

// cookie returns the cookie of the session, which another port of the host receives.
func (h *realHost) cookie(b *browser) *http.Cookie {
	h.t.Helper()
	got := make(chan *http.Cookie, 1)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for _, c := range r.Cookies() {
			select {
			case got <- c:
			default:
			}
		}
	}))
	h.t.Cleanup(thief.Close)
	b.do(chromedp.Navigate(h.url + "/"))
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	b.do(chromedp.Navigate(thief.URL))
	select {
	case c := <-got:
		return c
	case <-ctx.Done():
		h.t.Fatal("no other port received the cookie")
		return nil
	}
}

// An approval that covers later calls is listed until it is forgotten, and changed arguments are asked about again.
func TestBrowserRemembersAndEdits(t *testing.T) {
	h := startHost(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(h.url, h.token)
	b.open(h.url, "approvals")
	call := func() *exec.Cmd {
		cmd := h.command("toolhost", "call", "--config", "config.hcl", "shell__exec", "command=echo first > out.txt")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	waits := func() {
		b.see("h2", "shell__exec")
		b.answerable()
	}
	wrote := func() string {
		text, _ := os.ReadFile(filepath.Join(h.folder, "out.txt"))
		return strings.TrimSpace(string(text))
	}

	edited := call()
	waits()
	b.press("Edit")
	b.do(chromedp.SetValue(chromedp.CSS("textarea.json"), `{"command":"echo second > out.txt"}`))
	b.press("Approve")
	b.see(".code", "echo second")
	waits()
	b.press("Approve")
	if err := edited.Wait(); err != nil || wrote() != "second" {
		t.Errorf("the call ended with %v and wrote %q", err, wrote())
	}

	remembered := call()
	waits()
	b.do(chromedp.SetValue(chromedp.CSS(".actions select"), "arguments"))
	b.press("Approve")
	if err := remembered.Wait(); err != nil || wrote() != "first" {
		t.Errorf("the call ended with %v and wrote %q", err, wrote())
	}
	b.see("td", "shell__exec")
	b.screenshot("real-remembered")
	if err := call().Wait(); err != nil {
		t.Errorf("a call that is covered ended with %v", err)
	}
	b.press("Forget")
	b.wait(`![...document.querySelectorAll("td")].some((e) => e.textContent === "shell__exec")`)
	again := call()
	waits()
	b.press("Reject")
	if err := again.Wait(); err == nil {
		t.Error("a call of which the approval was forgotten ran")
	}
}

// A call that was started from its form goes on while a person answers for it on another page, and is there when they come
// back; only its button cancels it.
func TestBrowserKeepsACallOnOtherPages(t *testing.T) {
	h := startHost(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(h.url, h.token)
	b.open(h.url, "tools/shell__exec")
	run := func(command string) {
		b.wait(`!!document.querySelector('[name="arguments[command]"]')`)
		b.do(chromedp.SetValue(chromedp.CSS(`[name="arguments[command]"]`), command))
		b.press("Run")
	}
	run("date > now.txt; echo written")
	b.see(".call .status", "Waits for approval")
	b.press("Answer it")
	b.see("h2", "shell__exec")
	b.answerable()
	b.press("Approve")
	b.see("#announcements", "shell__exec: Done")
	b.press("Tools")
	b.see(".list", "shell__exec")
	eval[bool](b, `[...document.querySelectorAll(".list a")].find((a) => a.textContent.startsWith("shell__exec")).click(), true`)
	b.see(".call .result", "written")
	b.wait(`(({ top, bottom }) => top >= 0 && bottom <= innerHeight + 1)(document.querySelector(".call").getBoundingClientRect())`)
	b.screenshot("real-kept-call")
	eval[bool](b, `document.querySelector(".call .status a").click(), true`)
	b.see(".decision", "dates")
	b.see(".code", "written")

	// Two calls of one tool run beside each other, a third waits for the end of one, and pages are still answered.
	b.open(h.url, "tools/shell__exec")
	wait := func(file string) string {
		return "for i in 1; do while [ ! -e " + file + " ]; do sleep 0.05; done; echo ${i}" + file + "; done"
	}
	for _, file := range []string{"first", "second", "third"} {
		run(wait(file))
	}
	b.see(".call .status", "Waits until another call")
	eval[bool](b, `document.querySelector(".call:nth-child(2) .status a").click(), true`)
	b.see("h2 .pill", "running")
	b.screenshot("real-running")
	b.open(h.url, "calls")
	b.wait(`(() => { if ([...document.querySelectorAll(".vrow .pill")].some((p) => p.textContent === "running")) return true;
		document.querySelector(".filters").requestSubmit(); return false; })()`) // the index follows the record
	b.open(h.url, "policy")
	b.see("h2", "project")
	b.open(h.url, "tools/shell__exec")
	b.wait(`document.querySelectorAll(".call").length === 3`)
	if err := os.WriteFile(filepath.Join(h.folder, "first"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.see(".call .result", "1first")
	b.wait(`[...document.querySelectorAll(".call .status")].filter((e) => e.textContent.startsWith("Runs")).length === 2`)
	for range 2 {
		b.pressIn(".call:not(:has(.result))", "Cancel")
		b.wait(`!document.querySelector(".call button:disabled")?.offsetParent`)
	}
	b.wait(`[...document.querySelectorAll(".call .result")].filter((e) => e.textContent.includes("E_CANCELED")).length === 2`)
}
