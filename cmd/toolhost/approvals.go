package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	rpc "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/bootstrap"
)

func newApprovals(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "Answer what waits, list and revoke remembered approvals",
		Long: "List the permanent approvals that were given at a prompt, in the work folder where they were\n" +
			"given; one that names no folder, as older versions wrote them, holds nowhere. They turn a question\n" +
			"into allow and nothing else: what a rule denies stays denied, what one always asks about is asked.\n" +
			"They are in approvals.hcl in the user's configuration folder.",
		Args: unknownCommand, SuggestionsMinimumDistance: 2,
		RunE: func(*cobra.Command, []string) error { return g.listApprovals(format) },
	}
	chooseFormat(cmd, &format, "%s", "table", "json")
	cmd.AddCommand(&cobra.Command{
		Use: "revoke ID...", Short: "Ask again", Args: atLeastOneID,
		RunE: func(cmd *cobra.Command, ids []string) error { return g.revoke(cmd.Context(), ids) },
	})
	cmd.AddCommand(newApprovalsWaiting(g), newApprovalsWatch(g), newApprovalsAnswer(g))
	return cmd
}

// A shownAnswer is a remembered approval as programs read it.
type shownAnswer struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Created   time.Time       `json:"created"`
	Scope     string          `json:"scope"`
	Prefix    []string        `json:"prefix,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Workdir   string          `json:"workdir,omitempty"`
	Caller    string          `json:"caller,omitempty"`
}

func (g *globals) listApprovals(format string) error {
	answers, err := bootstrap.Answers()
	if err != nil {
		return err
	}
	if format == "json" {
		out := []shownAnswer{}
		for _, r := range answers {
			out = append(out, shownAnswer{r.ID, r.Tool, r.Created, string(r.Scope), r.Prefix, r.Arguments, r.Workdir, r.Caller})
		}
		return g.printJSON(out)
	}
	if len(answers) == 0 {
		fmt.Fprintln(g.err, "no answers are saved")
		return nil
	}
	rows := [][]string{{"ID", "TOOL", "SINCE", "IN", "FOR"}}
	for _, a := range answers {
		rows = append(rows, []string{a.ID, a.Tool, a.Created.Local().Format(time.DateTime), cmp.Or(a.Workdir, "no folder"),
			covers(a)})
	}
	writeTable(g.out, rows, width(g.out.w))
	return nil
}

// covers describes the calls that an approval covers.
func covers(r host.Remembered) string {
	what := "all its calls"
	switch r.Scope {
	case host.ScopePrefix:
		what = "commands that begin with " + strings.Join(r.Prefix, " ")
	case host.ScopeArguments:
		what = string(r.Arguments)
	}
	if r.Caller != "" && r.Caller != callerName {
		what += " by " + r.Caller
	}
	return what
}

// revoke removes saved approvals, also from the running host, which has read them before.
func (g *globals) revoke(ctx context.Context, ids []string) error {
	r, _ := g.running(ctx, "")
	if r != nil {
		defer r.close()
	}
	for _, id := range ids {
		found, err := bootstrap.RevokeAnswer(id)
		if err != nil {
			return err
		}
		if r != nil {
			_, err := apiv1.NewApprovalServiceClient(r.conn).Forget(ctx, &apiv1.ForgetRequest{Id: id})
			if err != nil && status.Code(err) != rpc.NotFound {
				return remoteError(err)
			}
			found = found || err == nil
		}
		if !found {
			return fmt.Errorf("there is no saved answer %q; `toolhost approvals` lists them", id)
		}
		fmt.Fprintf(g.out, "%s is revoked\n", id)
	}
	return nil
}
