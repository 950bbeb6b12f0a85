package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	var profile, format string
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "Answer waiting questions; list and revoke remembered approvals",
		Long: "List the permanent approvals that were given at a prompt, in the work folder where they were\n" +
			"given; entries without a folder (written by older versions) are ignored. They turn ask into allow\n" +
			"and nothing else: what a rule denies stays denied, what one always asks about is asked.\n" +
			"They are in approvals.hcl in the user's configuration folder. Those that end with the running\n" +
			"host of this configuration, work folder and profile come after them.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && slices.Contains([]string{"list", "ls", "show"}, args[0]) {
				return fmt.Errorf("there is no command %q; `toolhost approvals` alone lists the remembered approvals, `toolhost "+
					"approvals waiting` the questions", args[0])
			}
			return unknownCommand(cmd, args)
		},
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.listApprovals(cmd.Context(), profile, format)
		},
	}
	chooseFormat(cmd, &format, "%s", "table", "json")
	g.profileFlag(cmd, &profile)
	cmd.AddCommand(newApprovalsWaiting(g), newApprovalsWatch(g), newApprovalsAnswer(g), newApprovalsRevoke(g))
	return cmd
}

func newApprovalsRevoke(g *globals) *cobra.Command {
	var profile string
	cmd := &cobra.Command{
		Use: "revoke ID...", Short: "Ask again", Args: atLeastOneID,
		RunE: func(cmd *cobra.Command, ids []string) error { return g.revoke(cmd.Context(), profile, ids) },
	}
	g.profileFlag(cmd, &profile)
	return cmd
}

// atLeastOneID requires IDs of remembered answers.
func atLeastOneID(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("name the answers to revoke by their IDs; `toolhost approvals` lists them")
	}
	return nil
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
	SessionID string          `json:"session_id,omitempty"`
	Saved     bool            `json:"saved"` // otherwise it ends with the running host
}

// listApprovals lists the saved approvals, and those that the running host holds for a session.
func (g *globals) listApprovals(ctx context.Context, profile, format string) error {
	g.servedBefore = true
	answers, err := bootstrap.Answers()
	if err != nil {
		return err
	}
	if r, _ := g.running(ctx, profile); r != nil {
		defer r.close()
		held, err := apiv1.NewApprovalServiceClient(r.conn).ListRemembered(ctx, &apiv1.ListRememberedRequest{})
		if err != nil {
			return remoteError(err)
		}
		for _, a := range held.Remembered {
			if !a.Saved {
				answers = append(answers, host.Remembered{ID: a.Id, Tool: a.Tool, Created: a.Created.AsTime(),
					Scope: host.Scope(a.Scope), Prefix: a.Prefix, Arguments: json.RawMessage(a.Arguments), Workdir: a.Workdir,
					Caller: a.Caller, SessionID: a.SessionId})
			}
		}
	}
	if format == "json" {
		out := []shownAnswer{}
		for _, r := range answers {
			out = append(out, shownAnswer{r.ID, r.Tool, r.Created, string(r.Scope), r.Prefix, r.Arguments, r.Workdir, r.Caller,
				r.SessionID, r.Saved})
		}
		return g.printJSON(out)
	}
	if len(answers) == 0 {
		fmt.Fprintln(g.err, "no approvals are remembered")
		return nil
	}
	rows := [][]string{{"ID", "TOOL", "SINCE", "UNTIL", "IN", "FOR"}}
	for _, a := range answers {
		until := "the host ends"
		if a.Saved {
			until = "revoked"
		}
		rows = append(rows, []string{a.ID, a.Tool, a.Created.Local().Format(time.DateTime), until,
			cmp.Or(a.Workdir, "no folder"), covers(a)})
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
	if r.SessionID != "" && !r.Saved {
		what += " in session " + r.SessionID
	}
	return what
}

// revoke removes remembered approvals from where they are saved, and from the running host.
func (g *globals) revoke(ctx context.Context, profile string, ids []string) error {
	g.servedBefore = true
	r, _ := g.running(ctx, profile)
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
			return fmt.Errorf("there is no remembered approval %q; `toolhost approvals` lists them", id)
		}
		fmt.Fprintf(g.out, "%s is revoked\n", id)
	}
	return nil
}
