package console_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host/api/apiv1"
)

// maxPicture is how many bytes a picture of the README may have.
const maxPicture = 150 << 10

// TestBrowserPictures takes the pictures of the README, of a host as it looks in use. They go to the folder that
// TOOLHOST_TEST_BROWSER_PICTURES names, otherwise to the others.
func TestBrowserPictures(t *testing.T) {
	folder := os.Getenv("TOOLHOST_TEST_BROWSER_PICTURES")
	if folder == "" {
		folder = os.Getenv("TOOLHOST_TEST_BROWSER_OUT")
	}
	t.Setenv("TOOLHOST_TEST_BROWSER_OUT", folder)
	f := inUse(t)
	server := f.serve(t)
	for name, picture := range map[string]struct {
		page, scheme string
		prepare      func(b *browser)
	}{
		"console-overview": {"overview", "light", func(b *browser) { b.see(".plotwords", "now") }},
		"console-approvals": {"approvals", "dark", func(b *browser) {
			b.answerable()
		}},
		"console-tools": {"tools/edit__diff", "light", func(b *browser) {
			b.do(chromedp.SendKeys(chromedp.CSS(`[name="arguments[path]"]`), "server/limits.go"))
			b.press("Run")
			b.see(".status", "Done")
		}},
		"console-calls": {"calls/call-00007", "dark", func(*browser) {}},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBrowser(t, 1100, 760)
			b.scheme(picture.scheme)
			b.signIn(server.URL, token)
			b.open(server.URL, picture.page)
			b.settle()
			picture.prepare(b)
			b.screenshot(name)
			if info, err := os.Stat(filepath.Join(folder, name+".png")); folder != "" && (err != nil || info.Size() > maxPicture) {
				t.Errorf("the picture has %d bytes (%v); the limit is %d", info.Size(), err, maxPicture)
			}
		})
	}
}

// inUse is a fake with the tools that ship with toolhost, and a day of work.
func inUse(t *testing.T) *fake {
	f := newFake(0, 400)
	f.tools = nil
	data, err := os.ReadFile("../../testdata/shipped.json")
	if err != nil {
		t.Fatal(err)
	}
	var shipped []struct {
		Plugin, Name, Title, Description, Category string
		InputSchema                                json.RawMessage `json:"input_schema"`
		CostTier                                   string          `json:"cost_tier"`
		Previews, Stateful                         bool
		Hints                                      struct {
			ReadOnly    *bool `json:"read_only"`
			Destructive *bool
			OpenWorld   *bool `json:"open_world"`
		}
	}
	if err := json.Unmarshal(data, &shipped); err != nil {
		t.Fatal(err)
	}
	byName := map[string]*apiv1.Tool{}
	for _, s := range shipped {
		tool := &apiv1.Tool{Name: s.Name, Plugin: s.Plugin, Title: s.Title, Description: s.Description, Category: s.Category,
			InputSchema: string(s.InputSchema), CostTier: s.CostTier, Previews: s.Previews, Stateful: s.Stateful, HintsBelieved: true,
			Hints: &apiv1.Hints{ReadOnly: s.Hints.ReadOnly, Destructive: s.Hints.Destructive, OpenWorld: s.Hints.OpenWorld}}
		f.tools = append(f.tools, tool)
		byName[s.Name] = tool
	}
	asked := &apiv1.Decision{Effect: "ask", Rule: "edits", Layer: "project", Source: "config.hcl:41", Reason: "edits are reviewed",
		Trace: []*apiv1.DecisionStep{{Layer: "project", Rule: "edits", Source: "config.hcl:41", Matched: true, Effect: "ask"}}}
	f.approvals = []*apiv1.Approval{
		{Id: "1", Kind: apiv1.Approval_KIND_CALL, Tool: byName["edit__replace"], Caller: "mcp:editor", SessionId: "fix-limits",
			Arguments: `{"path":"server/limits.go","old_string":"30 * time.Second","new_string":"time.Minute"}`, Decision: asked,
			Preview: &apiv1.CallPreview{Content: []*apiv1.Content{{Type: "text", Text: editDiff}}}, Risk: "medium",
			RiskReason: "it changes one file of the work folder", Workdir: "/home/ada/service", Asked: timestamppb.Now(),
			Expires: timestamppb.New(time.Now().Add(10 * time.Minute))},
		{Id: "2", Kind: apiv1.Approval_KIND_CALL, Tool: byName["shell__exec"], Caller: "cli", SessionId: "release", Decision: asked,
			Arguments: `{"command":"git push origin main"}`, Risk: "high", Asked: timestamppb.Now(), Prefix: []string{"git", "push"}},
	}
	for i, name := range []string{"edit", "http", "readfile", "shell"} {
		f.running = append(f.running, &apiv1.Plugin{Name: name, State: "ready", Generation: 1, Tools: int32(i + 2)})
	}
	f.running = append(f.running, &apiv1.Plugin{Name: "tickets", State: "backoff", Generation: 4, Restarts: 3, Crashes: 3,
		LastError: "exit code 1: no connection to tickets.example.com", Tools: 9})
	f.result = []*apiv1.Content{{Type: "text", Text: editDiff}}
	f.busy = true
	return f
}

const editDiff = `--- a/server/limits.go
+++ b/server/limits.go
@@ -12,7 +12,7 @@ import (
 // limits of one request
 const (
 	maxBody   = 1 << 20
-	maxWait   = 30 * time.Second
+	maxWait   = time.Minute
 	maxHeader = 16 << 10
 )
`

// day is how busy a host is at a step of the plots.
func day(i int) (calls, errors int64, p50, p95, p99 float64) {
	x := float64(i)
	wave := 30 + 22*math.Sin(x/9) + 9*math.Sin(x/2.3) + float64(i*7919%11)
	return int64(max(wave, 3)), int64(i * 104729 % 7 / 5), 18 + 4*math.Sin(x/5), 95 + 30*math.Sin(x/4), 210 + 60*math.Sin(x/3) +
		float64(i*31%40)
}

// story is a call as one sees it among others.
func (f *fake) story(i int) *apiv1.RecordedCall {
	c := f.recorded(i)
	c.Tool, c.Plugin, c.Caller, c.SessionId = "edit__replace", "edit", "mcp:editor", "fix-limits"
	c.ApprovalAnswer, c.ApprovalBy = "approved", "console"
	c.Arguments, c.Workdir = `{"path":"server/limits.go","old_string":"30 * time.Second","new_string":"time.Minute"}`, "/home/ada/service"
	c.Duration, c.ErrorReason = durationpb.New(4180*time.Millisecond), ""
	c.Ended = timestamppb.New(c.Decided.AsTime().Add(c.Duration.AsDuration()))
	return c
}
