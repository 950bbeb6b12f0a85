package supervise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/sdk"
)

func init() { plays["visitor"] = func() { sdk.Serve(visitorPlugin()) } }

// visitorPlugin has a tool that calls the other plugins of its host by their sockets, and says what they answered.
func visitorPlugin() *sdk.Plugin {
	p := sdk.New("visitor", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "visit", Description: "calls others"}, func(ctx context.Context, r *sdk.Request, _ textArgs) (*sdk.Result, error) {
		own := os.Getenv("PLUGIN_UNIX_SOCKET_DIR")
		sockets, _ := filepath.Glob(filepath.Join(filepath.Dir(own), "*", "plugin*"))
		said := ""
		for _, socket := range sockets {
			if filepath.Dir(socket) == own {
				continue
			}
			conn, err := grpc.NewClient("unix:"+socket, sdk.DialOptions(0)...)
			if err != nil {
				return nil, err
			}
			_, err = sdk.NewClient(conn).Call(ctx, request("echo", "from a plugin"))
			said += fmt.Sprintf("answered: %t (%v)\n", err == nil, err)
			_ = conn.Close()
		}
		return sdk.Text(said), nil
	})
	return p
}

// A plugin finds the sockets of others, but they answer the host alone, also where they cannot tell who connects.
func TestPluginsDoNotCallEachOther(t *testing.T) {
	t.Parallel()
	for _, l := range levels {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			s := supervisor(t)
			victim, visitor := playing("good", "good"), playing("visitor", "visitor")
			victim.Sandbox.Level, visitor.Sandbox.Level = l, l
			mustCall(t, add(t, s, victim), "echo", "")
			if said := mustCall(t, add(t, s, visitor), "visit", ""); len(said) < 10 || said[:15] != "answered: false" {
				t.Errorf("the other plugin: %q", said)
			}
		})
	}
}
