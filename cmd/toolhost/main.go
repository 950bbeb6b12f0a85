// Command toolhost runs tools as supervised plugin processes: it lists them, calls them, and says how they are.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(named(os.Args[0])(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process around it; it gives the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	t := newTerminal(stdin, stdout, stderr)
	cmd := newRoot(t)
	cmd.SetArgs(args)
	err := cmp.Or(cmd.ExecuteContext(ctx), *t.late)
	t.complain(err)
	lost := t.out.lost()
	t.complain(lost)
	return exitCode(errors.Join(err, lost))
}

// complain tells on standard error what went wrong.
func (t *terminal) complain(err error) {
	if err != nil && err.Error() != "" {
		fmt.Fprintf(t.err, "%s %s\n", t.paint(red, "toolhost:"), clean(t.hide(err.Error())))
	}
}
