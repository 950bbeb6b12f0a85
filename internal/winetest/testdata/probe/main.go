// Command toolhost-plugin-probe is a plugin for the tests on Windows: its tools wait, start processes and end badly.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

type waitArgs struct {
	Ready string `json:"ready" jsonschema:"The file that is made when the call waits."`
}

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "sleep":
		time.Sleep(time.Hour)
	case len(os.Args) == 3 && os.Args[1] == "connect":
		connect(os.Args[2])
	default:
		sdk.Serve(plugin())
	}
}

func plugin() *sdk.Plugin {
	p := sdk.New("probe", "1")
	sdk.AddTool(p, sdk.Tool{Name: "crash", Description: "Ends the plugin."},
		func(context.Context, *sdk.Request, struct{}) (*sdk.Result, error) {
			fmt.Fprintln(os.Stderr, "last words")
			os.Exit(3)
			return nil, nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "wait", Description: "Starts a process, and waits for the end."},
		func(ctx context.Context, _ *sdk.Request, in waitArgs) (*sdk.Result, error) {
			if err := os.WriteFile(in.Ready+".new", nil, 0o600); err != nil {
				return nil, &sdk.Error{Name: "NoFile", Message: err.Error()}
			}
			if err := start(); err != nil {
				return nil, err
			}
			if err := os.Rename(in.Ready+".new", in.Ready); err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
	sdk.AddTool(p, sdk.Tool{Name: "start", Description: "Starts a process, and leaves it."},
		func(context.Context, *sdk.Request, struct{}) (*sdk.Result, error) {
			if err := start(); err != nil {
				return nil, err
			}
			return sdk.Text("temporary files: " + os.TempDir()), nil
		})
	return p
}

// start starts a process that outlives the plugin unless it is ended with it.
func start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return exec.Command(self, "sleep").Start()
}

// connect says whether the plugin at the address talks to this process: gRPC's settings come at once.
func connect(address string) {
	conn, err := net.Dial("tcp", address)
	if err == nil {
		_, err = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	}
	if err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err = conn.Read(make([]byte, 9))
	}
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println("accepted")
}
