// Command toolhost runs tools as supervised plugin processes: it lists them, calls them, and says how they are.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process around it; it gives the exit code. A second interrupt ends the process at once.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	t := &terminal{in: stdin, out: stdout, err: stderr}
	cmd := newRoot(t)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintf(stderr, "%s %s\n", t.paint(red, "toolhost:"), err)
	}
	return exitCode(err)
}
