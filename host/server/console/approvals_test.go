package console_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host/api/apiv1"
)

// answers returns what the fake was answered with.
func (f *fake) answers() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.called)
}

// Questions are answered by keyboard, each with the hash of what was shown, and a key that comes too early for the next
// question answers nothing.
func TestBrowserAnswersApprovals(t *testing.T) {
	f := newFake(2, 2)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "approvals")
	b.see("h2", "demo__nested")
	b.see(".diff", "<b>new</b>")
	b.answerable()
	b.do(chromedp.KeyEvent("a"), chromedp.KeyEvent("a"), chromedp.KeyEvent("a"))
	b.see("h2", "demo__hostile")
	if got := f.answers(); len(got) != 1 || !strings.HasPrefix(got[0], "1 h1 approved ") {
		t.Fatalf("three keys gave %q", got)
	}
	b.answerable()
	b.do(chromedp.KeyEvent("r"))
	b.see("legend", "demo__nested asks")
	b.wait(`document.querySelector(".actions button.primary:not(:disabled)") && document.querySelector("[name='arguments[branch]']")`)
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="arguments[branch]"]`), "main"))
	b.screenshot("question")
	b.press("Answer")
	b.see(".list", "Nothing waits")
	want := []string{"1 h1 approved  map[]", "2 h2 rejected  map[]",
		`3 h3 approved  map[q:{"action":"accept","content":{"branch":"main"}}]`}
	if got := f.answers(); !slices.Equal(got, want) {
		t.Errorf("the answers are %q", got)
	}
}

// Questions of one tool are told apart by their arguments and ages; after an answer the next one comes up, and after a
// change of the arguments the question about these.
func TestBrowserKeepsItsPlaceInApprovals(t *testing.T) {
	f := newFake(2, 2)
	for i := range 12 {
		f.approvals = append(f.approvals, &apiv1.Approval{Id: fmt.Sprint(i), Kind: apiv1.Approval_KIND_CALL, Hash: fmt.Sprint("h", i),
			CallId: fmt.Sprint("c", i), Tool: f.tools[0], Arguments: fmt.Sprintf(`{"command":"make part%d","n":[1]}`, i), Caller: "cli",
			Asked: timestamppb.New(time.Now().Add(-time.Duration(i) * time.Minute)), Risk: "medium"})
	}
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "approvals")
	b.see(".list a", "make part7")
	b.see(".list .age", " min ago")
	b.screenshot("approvals-many")
	eval[bool](b, `[...document.querySelectorAll(".list a")].find((a) => a.textContent.includes("part7")).click(), true`)
	b.see(".detail .code", "make part7")
	if at := eval[string](b, "location.hash"); at != "#/approvals/7" {
		t.Errorf("the address is %s", at)
	}
	answer := func(action func()) {
		b.answerable()
		action()
	}
	answer(func() { b.do(chromedp.KeyEvent("a")) })
	b.see(".detail .code", "make part8")
	answer(func() {
		b.press("Edit")
		b.do(chromedp.SetValue(chromedp.CSS("textarea.json"), `{"command":"make all"}`))
		b.press("Approve")
	})
	b.see(".detail .code", "make all")
	answer(func() { b.do(chromedp.KeyEvent("k")) })
	b.see(".detail .code", "make part11")
	answer(func() { b.do(chromedp.KeyEvent("r")) })
	b.see(".detail .code", "make all")
	answer(func() { b.do(chromedp.KeyEvent("r")) })
	b.see(".detail .code", "make part10")
}

// The buttons of a question stay in sight however long its preview is, and on a phone it comes up when it is chosen.
func TestBrowserShowsLongQuestions(t *testing.T) {
	f := newFake(2, 2)
	long := "--- a/x\n+++ b/x\n@@ -0,0 +1,600 @@\n" + strings.Repeat("+a line\n", 600)
	for i := range 3 {
		f.approvals = append(f.approvals, &apiv1.Approval{Id: fmt.Sprint(i), Kind: apiv1.Approval_KIND_CALL, Hash: fmt.Sprint("h", i),
			Tool: f.tools[0], Arguments: `{"content":` + quote(long) + `}`, Asked: timestamppb.Now(), Risk: "high",
			Preview: &apiv1.CallPreview{Content: []*apiv1.Content{{Type: "text", Text: long}}}})
	}
	server := f.serve(t)
	for name, size := range map[string][2]int64{"desk": {1200, 900}, "phone": {390, 844}} {
		t.Run(name, func(t *testing.T) {
			b := openBrowser(t, size[0], size[1])
			b.signIn(server.URL, token)
			b.open(server.URL, "approvals")
			b.see(".diff", "a line")
			eval[bool](b, `document.querySelectorAll(".list a")[1].click(), true`)
			b.wait(`location.hash === "#/approvals/1" && (({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.querySelector(
				".actions button.primary").getBoundingClientRect())`)
			b.wait(`document.querySelector(".detail h2").getBoundingClientRect().top < innerHeight / 2`)
			b.screenshot("approval-long-" + name)
			if tall := eval[int](b, "document.documentElement.scrollHeight"); tall > 3500 {
				t.Errorf("the page is %d pixels high", tall)
			}
		})
	}
}
