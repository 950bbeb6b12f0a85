package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

// serveOfficial is a server made with the official Go SDK.
func serveOfficial() {
	server := mcp.NewServer(&mcp.Implementation{Name: "official", Version: "1"}, nil)
	add := func(name string, run func(ctx context.Context, r *mcp.CallToolRequest) (string, error)) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := run(ctx, r)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, err
			})
	}
	add("echo", func(_ context.Context, r *mcp.CallToolRequest) (string, error) {
		return string(r.Params.Arguments), nil
	})
	add("grow", func(context.Context, *mcp.CallToolRequest) (string, error) {
		add("grown", nil)
		return "", nil
	})
	add("progress", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		for i := range 100 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(),
				Progress: float64(i + 1), Total: 100})
		}
		return "", nil
	})
	add("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
		fmt.Fprintln(os.Stderr, "waiting")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "canceled")
		return "", ctx.Err()
	})
	add("ask", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
		if err != nil {
			return "", err
		}
		return answer.Action, nil
	})
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
}

// A server of the official SDK understands all that the client says, with and without a handshake.
func TestOfficialServer(t *testing.T) {
	for _, revision := range []string{"", client.Revision20251125, client.Revision20250618, client.Revision20250326, client.Revision20241105} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			lines := make(chan string, 100)
			cmd := command(t)
			cmd.Env, cmd.Stderr = []string{modeVariable + "=sdk"}, func(line string) { lines <- line }
			var changes atomic.Int32
			s := dialTo(t, cmd.Open, client.Options{Name: "n", Version: "v", Revision: revision,
				Capabilities: json.RawMessage(`{"elicitation":{"form":{}}}`), Request: func(context.Context, string,
					json.RawMessage) (json.RawMessage, *client.RPCError) {
					return json.RawMessage(`{"action":"decline"}`), nil
				}, ListChanged: func(list string) {
					if list == "tools" {
						changes.Add(1)
					}
				}, Warn: func(text string) { t.Error(text) }})
			want := revision
			if want == "" {
				want = client.Revision20260728
			}
			if got := s.Server().Revision; got != want || !strings.Contains(string(s.Server().Info), "official") {
				t.Errorf("%+v", s.Server())
			}
			ctx := context.Background()
			before := tools(t, s)
			const arguments = `{"b":1, "a":9007199254740993}`
			quoted, _ := json.Marshal(arguments)
			if got, err := callTool(ctx, s, "echo", arguments, nil); err != nil || !strings.Contains(got, string(quoted)) ||
				strings.Contains(got, "serverInfo") {
				t.Error(got, err)
			}
			if _, err := callTool(ctx, s, "grow", `{}`, nil); err != nil {
				t.Error(err)
			}
			until(t, func() bool { return changes.Load() > 0 })
			if after := tools(t, s); after != before+1 {
				t.Errorf("%d tools, then %d", before, after)
			}
			n := 0
			if _, err := callTool(ctx, s, "progress", `{}`, &client.CallOptions{Progress: func(p client.Progress) {
				if n++; int(p.Progress) != n || p.Total != 100 {
					t.Errorf("%+v at %d", p, n)
				}
			}}); err != nil || n != 100 {
				t.Error(n, err)
			}
			if revision != "" { // others ask in their result
				got, err := callTool(ctx, s, "ask", `{}`, nil)
				if err != nil || !strings.Contains(got, "decline") {
					t.Error(got, err)
				}
			}
			ctx, cancel := context.WithCancel(ctx)
			done := make(chan outcome, 1)
			go func() {
				r, err := callTool(ctx, s, "wait", `{}`, nil)
				done <- outcome{r, err}
			}()
			<-lines
			cancel()
			if line := <-lines; line != "canceled" || await(t, done).err == nil {
				t.Error(line)
			}
		})
	}
}

// tools returns how many tools a server has.
func tools(t *testing.T, s *client.Session) int {
	t.Helper()
	l, err := s.List(context.Background(), client.Tools)
	if err != nil {
		t.Fatal(err)
	}
	return len(l.Items)
}
