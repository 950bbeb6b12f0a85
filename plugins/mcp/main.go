// Command toolhost-plugin-mcp is a plugin whose tools are those of an MCP server: a program that it starts, or an
// address.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/toolhost/toolhost/plugins/mcp/internal/oauth"
	"github.com/toolhost/toolhost/sdk"
)

const version = "0.1.0"

func main() {
	if len(os.Args) > 1 {
		os.Exit(account(os.Args[1], os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv("GOMAXPROCS") == "" {
		// What the plugin does for a call is little, and done by one goroutine after another. On one processor they hand it
		// on without waking a thread for each step, which takes a quarter off the processor time of a small call (measured).
		runtime.GOMAXPROCS(1)
	}
	sdk.Serve(newBridge().plugin)
}

// maxConfig bounds the configuration on standard input, in bytes.
const maxConfig = 1 << 20

// account does what a person does with the account at the server, in place of serving: `toolhost mcp login` and
// `logout` run it. The plugin's configuration is on standard input, so that secrets are in no list of processes. It
// returns the exit code.
func account(verb string, in io.Reader, out, errOut io.Writer) int {
	verbs := map[string]func(context.Context, oauth.Server, io.Writer) error{"login": oauth.Login, "logout": oauth.Logout}
	run := verbs[verb]
	if run == nil {
		fmt.Fprintf(errOut, "%q is not a command of this plugin; `toolhost mcp login PLUGIN` runs it with login\n", verb)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := accountServer(in)
	if err == nil {
		err = run(ctx, server, out)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(errOut, err)
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.Suggestion != "" {
		fmt.Fprintln(errOut, e.Suggestion)
	}
	return 1
}

func accountServer(in io.Reader) (oauth.Server, error) {
	var c config
	text, err := io.ReadAll(io.LimitReader(in, maxConfig))
	if err != nil {
		return oauth.Server{}, err
	}
	if json.Unmarshal(text, &c) != nil {
		return oauth.Server{}, errors.New("the plugin's configuration is expected on standard input, as JSON")
	}
	s, err := c.settings("/")
	if err != nil {
		return oauth.Server{}, err
	}
	if s.url == nil {
		return oauth.Server{}, errors.New("the plugin has a command and no url, so there is nothing to log in at")
	}
	return s.oauthServer(&c), nil
}
