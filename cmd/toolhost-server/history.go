package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/history"
	"github.com/toolhost/toolhost/host/history/historyservice"
)

// openHistory opens the index of the configuration's record, nil if there is no record. The host serves without it if
// it cannot be opened.
func (p *program) openHistory(ctx context.Context, c *bootstrap.Configuration) *history.Index {
	if c.Audit == nil || !c.Trusted() { // a file that is not trusted may name any path
		return nil
	}
	path, err := bootstrap.AuditPath(c.Audit.Path, c.Dir)
	if err == nil {
		var index *history.Index
		index, err = history.Open(ctx, history.Options{Record: path, KeepFor: c.History.KeepFor,
			KeepCalls: c.History.KeepCalls, Log: p.log})
		if err == nil {
			return index
		}
	}
	p.log.Error("the history is not served by this process", "error", err, "fix", "toolhost serve --upgrade, once the "+
		"cause is gone")
	return nil
}

// followHistory keeps the index up to date until the returned function is called, which closes it.
func (p *program) followHistory(ctx context.Context) (end func()) {
	if p.history == nil {
		return func() {}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // also while the last calls end
	var following sync.WaitGroup
	following.Go(func() { p.history.Follow(ctx) })
	return func() {
		stop()
		following.Wait()
		_ = p.history.Close() // what is lost is made again
	}
}

// historyCommand answers one request for `toolhost history` where no host runs: toolhost itself links no SQLite. The
// request comes on stdin and the answers go to stdout, each with its length before it.
func historyCommand(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := history.Options{Log: logger(settings{logLevel: "warn"}, stderr)}
	f := pflag.NewFlagSet("toolhost-server history", pflag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.Record, "record", "", "the record's `file`")
	f.StringVar(&o.Index, "index", "", "the index's `file`")
	f.DurationVar(&o.KeepFor, "keep-for", 0, "remove calls of this `age` from the index")
	f.Int64Var(&o.KeepCalls, "keep-calls", 0, "remove calls over this `number` from the index")
	if err := f.Parse(args); err != nil || f.NArg() != 1 {
		fmt.Fprintln(stderr, "toolhost-server history is run by `toolhost history`")
		return exitUsage
	}
	err := answerHistory(ctx, o, f.Arg(0), bufio.NewReader(stdin), stdout, stderr)
	if err == nil {
		return exitOK
	}
	code := exitFailed
	if e, is := errors.AsType[*connect.Error](err); is {
		err = errors.New(e.Message())
		switch e.Code() { // as toolhost has them for a running host
		case connect.CodeInvalidArgument, connect.CodeNotFound:
			code = exitUsage
		case connect.CodeUnavailable:
			code = exitUnavailable
		}
	}
	if ctx.Err() == nil {
		fmt.Fprintln(stderr, "toolhost:", err)
	}
	return code
}

// failWithHint makes the error of an RPC for a terminal.
func failWithHint(code connect.Code, message, hint string) *connect.Error {
	if hint != "" {
		message += "\n  " + hint
	}
	return connect.NewError(code, errors.New(message))
}

// longRead is how many bytes of a record take so long to be read that a person wants to know.
const longRead = 64 << 20

func answerHistory(ctx context.Context, o history.Options, method string, in *bufio.Reader, stdout, stderr io.Writer) (
	err error) {
	index, err := history.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	state, err := index.State(ctx)
	if err != nil {
		return err
	}
	if n := state.Size - state.Indexed; n > longRead {
		fmt.Fprintf(stderr, "toolhost: reads %d MB of the record that are not indexed yet\n", n/1e6)
	}
	if method == "Rebuild" {
		return index.Rebuild(ctx)
	}
	began := time.Now()
	if err := index.Sync(ctx); err != nil && !errors.Is(err, history.ErrLocked) {
		return err
	} else if err != nil {
		fmt.Fprintf(stderr, "toolhost: the answer may lack the latest calls: %v (waited %v)\n", err,
			time.Since(began).Round(time.Second))
	}
	if state, err := index.State(ctx); err == nil && state.Calls == 0 && state.Size > 0 && !hasRecords(o.Record) {
		return failWithHint(connect.CodeInvalidArgument, o.Record+" has no line of a record", "Name the file of one, such "+
			"as audit.jsonl.")
	}
	s := historyservice.New(index, historyservice.Options{Fail: failWithHint})
	switch method {
	case "Search":
		return answer(ctx, in, stdout, &apiv1.SearchCallsRequest{}, s.Search)
	case "GetCall":
		return answer(ctx, in, stdout, &apiv1.GetCallRequest{}, s.GetCall)
	case "Stats":
		return answer(ctx, in, stdout, &apiv1.StatsRequest{}, s.Stats)
	case "Export":
		r := &apiv1.ExportRequest{}
		if err := protodelim.UnmarshalFrom(in, r); err != nil {
			return err
		}
		return s.ExportTo(ctx, r, func(m *apiv1.ExportResponse) error {
			_, err := protodelim.MarshalTo(stdout, m)
			return err
		})
	}
	return fmt.Errorf("toolhost-server has no method %q; install it and toolhost from one release", method)
}

// hasRecords reports whether a file has a line of a record, also one of a plugin's start.
func hasRecords(path string) bool {
	for _, err := range audit.Read(path) {
		return err == nil
	}
	return false
}

// answer reads a request and writes the response.
func answer[Q, A any, R interface {
	*Q
	proto.Message
}](ctx context.Context, in *bufio.Reader, out io.Writer, r R,
	call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error)) error {
	if err := protodelim.UnmarshalFrom(in, r); err != nil {
		return err
	}
	response, err := call(ctx, connect.NewRequest((*Q)(r)))
	if err != nil {
		return err
	}
	m, is := any(response.Msg).(proto.Message)
	if !is {
		return errors.New("the response is not a protobuf message of the API")
	}
	_, err = protodelim.MarshalTo(out, m)
	return err
}
