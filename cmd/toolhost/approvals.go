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

func newApprovals(g *options) *cobra.Command {
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

func newApprovalsRevoke(g *options) *cobra.Command {
	var profile string
	cmd := &cobra.Command{
		Use: "revoke ID...", Short: "Ask again",
		Args: oneTo(anyNumber, "name the answers to revoke by their IDs; `toolhost approvals` lists them"),
		RunE: func(cmd *cobra.Command, ids []string) error { return g.revoke(cmd.Context(), profile, ids) },
	}
	g.profileFlag(cmd, &profile)
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
	SessionID string          `json:"session_id,omitempty"`
	Saved     bool            `json:"saved"` // otherwise it ends with the running host
}

// listApprovals lists the saved approvals, and those that the running host holds for a session.
func (g *options) listApprovals(ctx context.Context, profile, format string) error {
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
func (g *options) revoke(ctx context.Context, profile string, ids []string) error {
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

// hostToAsk connects to the running host, which these commands need.
func (g *options) hostToAsk(ctx context.Context, profile string) (*runningHost, error) {
	g.servedBefore = true
	r, why := g.running(ctx, profile)
	if r == nil {
		return nil, &exitError{exitUnavailable, "there is no running host to ask: " + why + "\n  `toolhost serve` runs one"}
	}
	return r, nil
}

func newApprovalsWaiting(g *options) *cobra.Command {
	var profile, format string
	cmd := &cobra.Command{
		Use: "waiting", Short: "List questions that wait for an answer at the running host", Args: noArguments,
		SuggestFor: []string{"list", "pending"},
		RunE:       func(cmd *cobra.Command, _ []string) error { return g.listWaiting(cmd.Context(), profile, format) },
	}
	chooseFormat(cmd, &format, "%s", "table", "json")
	g.profileFlag(cmd, &profile)
	return cmd
}

func (g *options) listWaiting(ctx context.Context, profile, format string) error {
	r, err := g.hostToAsk(ctx, profile)
	if err != nil {
		return err
	}
	defer r.close()
	list, err := apiv1.NewApprovalServiceClient(r.conn).List(ctx, &apiv1.ListApprovalsRequest{})
	if err != nil {
		return remoteError(err)
	}
	if format == "json" {
		for _, a := range list.Approvals {
			if err := g.printMessage(a, false); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list.Approvals) == 0 {
		fmt.Fprintln(g.err, "nothing waits")
		return nil
	}
	rows := [][]string{{"ID", "TOOL", "RISK", "ASKED", "CALLER", "WHY"}}
	for _, a := range list.Approvals {
		why := a.GetDecision().GetReason()
		if a.Kind == apiv1.Approval_KIND_INPUT {
			why = "the tool asks a question"
		}
		rows = append(rows, []string{a.Id[:min(len(a.Id), shortID)], a.GetTool().GetName(), cmp.Or(a.Risk, "-"),
			a.Asked.AsTime().Local().Format(time.TimeOnly), cmp.Or(a.Caller, "-"), why})
	}
	writeTable(g.out, rows, width(g.out.w))
	return nil
}

// shortID is how much of an id is shown; answer takes it.
const shortID = 8

func newApprovalsWatch(g *options) *cobra.Command {
	var profile, format string
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Answer questions that wait at the running host",
		Long: "Answer the questions that wait at the running host (toolhost serve), one after the other,\n" +
			"until interrupted. Other approvers may be faster: the first answer counts. Without a terminal, and\n" +
			"with --format json, each question is printed when it begins to wait and when it ends, as a line of\n" +
			"JSON; `toolhost approvals answer` answers it.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.watchApprovals(cmd.Context(), profile, format) },
	}
	chooseFormat(cmd, &format, "%s", "text", "json")
	g.profileFlag(cmd, &profile)
	return cmd
}

// watchApprovals follows the running host, and the one that replaces it, until there is none.
func (g *options) watchApprovals(ctx context.Context, profile, format string) error {
	r, err := g.hostToAsk(ctx, profile)
	if err != nil {
		return err
	}
	defer func() { r.close() }()
	watch := g.printApprovals
	if person := g.prompterAt(false); format != "json" && person != nil {
		p := newPrompter(g, person)
		watch = func(ctx context.Context, r *runningHost) (ended, err error) { return g.answerAll(ctx, r, p) }
		fmt.Fprintln(g.err, "waiting for questions of the running host; Ctrl-C ends")
	}
	for {
		ended, err := watch(ctx, r)
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case err != nil:
			return err
		}
		next, err := g.connect(ctx, profile)
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case err != nil:
			return endOfWatch(r, ended)
		case next.info.Pid != r.info.Pid:
			fmt.Fprintf(g.err, "the host was replaced, by process %d; still watching\n", next.info.Pid)
		default:
			fmt.Fprintln(g.err, "the connection to the host was lost and restored; still watching")
		}
		r.close()
		r = next
	}
}

// endOfWatch is the error of a watch that ended with its host.
func endOfWatch(r *runningHost, ended error) error {
	if errorDetail(ended) != nil { // the host said so itself
		return &exitError{exitUnavailable, "the running host has ended"}
	}
	return &exitError{exitUnavailable, fmt.Sprintf("the running host was lost: process %d ended without stopping\n"+
		"  `toolhost serve` runs another one", r.info.Pid)}
}

// answerAll has a person answer what waits until the host ends, for which ended is the reason.
func (g *options) answerAll(ctx context.Context, r *runningHost, p *prompter) (ended, err error) {
	all, why, err := r.questions(ctx, func(*apiv1.Approval) bool { return true })
	if disconnected(err) { // the host may end before its first message
		return err, nil
	} else if err != nil {
		return nil, remoteError(err)
	}
	for q := range all {
		if err := g.answer(ctx, r, p, q); err != nil {
			return nil, err
		}
	}
	return why(), nil
}

// printApprovals prints what begins to wait and what ends, until the host ends, for which ended is the reason.
func (g *options) printApprovals(ctx context.Context, r *runningHost) (ended, err error) {
	stream, err := apiv1.NewApprovalServiceClient(r.conn).Watch(ctx, &apiv1.WatchApprovalsRequest{})
	if disconnected(err) { // the host may end before its first message
		return err, nil
	} else if err != nil {
		return nil, remoteError(err)
	}
	for first := true; ; first = false {
		m, err := stream.Recv()
		if err != nil && first && !disconnected(err) {
			return nil, remoteError(err)
		} else if err != nil {
			return err, nil
		}
		for _, a := range m.Approvals {
			if err := g.printMessage(a, false); err != nil {
				return nil, err
			}
		}
	}
}

func newApprovalsAnswer(g *options) *cobra.Command {
	var profile, reason, scope string
	var saved bool
	cmd := &cobra.Command{
		Use:   "answer ID yes|no",
		Short: "Answer one question of the running host",
		Long: "Answer one question of the running host (toolhost serve). ID is that of `toolhost approvals waiting`, at\n" +
			"least the eight characters that it shows. Questions of tools are answered at a\n" +
			"terminal, by `toolhost approvals watch`, or in the\n" +
			"console.",
		Example: "  toolhost approvals answer 3GX2QNKB yes\n  toolhost approvals answer 3GX2QNKB no --reason 'use the " +
			"staging server'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[1] != "yes" && args[1] != "no" {
				return errors.New("give the ID of a question, and yes or no: toolhost approvals answer ID yes")
			}
			if len(args[0]) < shortID { // less might name a question that the person has not seen
				return fmt.Errorf("the ID %q is too short: give at least the %d characters that `toolhost approvals waiting` "+
					"shows", args[0], shortID)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			m := &apiv1.AnswerApprovalRequest{Id: args[0], Approved: args[1] == "yes", Reason: reason, Scope: scope,
				Saved: saved, By: terminalName}
			if err := checkAnswer(m); err != nil {
				return err
			}
			return g.answerApproval(cmd.Context(), profile, m)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why the call is rejected, as a `text` for the model")
	cmd.Flags().StringVar(&scope, "scope", "", "which later calls an approval covers: arguments, prefix or tool "+
		"(default: none)")
	cmd.Flags().BoolVar(&saved, "saved", false, "keep the approval after the host ends")
	g.profileFlag(cmd, &profile)
	complete(cmd, "reason", cobra.NoFileCompletions)
	complete(cmd, "scope", cobra.FixedCompletions([]string{string(host.ScopeArguments), string(host.ScopePrefix),
		string(host.ScopeTool)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// checkAnswer refuses flags that say nothing with the answer.
func checkAnswer(m *apiv1.AnswerApprovalRequest) error {
	switch {
	case m.Approved && m.Reason != "":
		return errors.New("--reason says why not, so it goes with no: an approval has no reason")
	case !m.Approved && m.Saved:
		return errors.New("--saved keeps an approval, so it goes with yes: a no is for one call")
	case !m.Approved && m.Scope != "":
		return errors.New("--scope says which later calls are approved, so it goes with yes: a no is for one call")
	}
	return nil
}

// fullID is how many characters the ID of a question has.
const fullID = 26

// answerApproval answers the question whose ID begins with that of m. An ID has one question, whose hash never changes,
// so the hash may be looked up: a call with other arguments is another question.
func (g *options) answerApproval(ctx context.Context, profile string, m *apiv1.AnswerApprovalRequest) error {
	r, err := g.hostToAsk(ctx, profile)
	if err != nil {
		return err
	}
	defer r.close()
	client := apiv1.NewApprovalServiceClient(r.conn)
	list, err := client.List(ctx, &apiv1.ListApprovalsRequest{})
	if err != nil {
		return remoteError(err)
	}
	m.Id = strings.ToUpper(m.Id)
	var found []*apiv1.Approval
	for _, a := range list.Approvals {
		if strings.HasPrefix(a.Id, m.Id) {
			found = append(found, a)
		}
	}
	switch {
	case len(found) == 0 && len(m.Id) == fullID:
		_, err := client.Answer(ctx, m) // it knows how a question has ended; without a hash nothing is answered
		return remoteError(err)
	case len(found) == 0:
		return fmt.Errorf("no question %q waits; `toolhost approvals waiting` lists them", m.Id)
	case len(found) > 1:
		return fmt.Errorf("%d questions begin with %q; write more of the ID", len(found), m.Id)
	case found[0].Kind == apiv1.Approval_KIND_INPUT:
		return errors.New("this is a question of a tool, which wants more than yes or no; answer it by `toolhost approvals " +
			"watch` at a terminal, or in the console")
	}
	m.Id, m.Hash = found[0].Id, found[0].Hash
	reply, err := client.Answer(ctx, m)
	if err != nil {
		return remoteError(err)
	}
	fmt.Fprintf(g.out, "%s is %s\n", found[0].GetTool().GetName(), reply.GetOutcome().GetAnswer())
	return nil
}
