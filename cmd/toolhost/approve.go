package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/answers"
)

// callerName is who makes the calls of this program, for rules that name callers.
const callerName = "cli"

// approveClient is the word for a client that has asked its user before it makes a call.
const approveClient = "client"

func approveFlag(cmd *cobra.Command, to *string) {
	choose(cmd, to, "approve", "for calls that need a person's yes: %s (default: the mode of the configuration)", "ask", "always", "never")
}

// clientApproveFlag is approveFlag for a program that clients run, who may have asked already.
func clientApproveFlag(cmd *cobra.Command, to *string) {
	choose(cmd, to, "approve", "for calls that need a person's yes: %s; client: the client has asked its user (default: the mode of the configuration)",
		"ask", "always", "never", approveClient)
}

func sessionFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "session", "", "count the call for the `session` of this name (default: that of the work folder, which ends after an hour without calls)")
	complete(cmd, "session", cobra.NoFileCompletions)
}

// approval says who is asked. Whatever the flag, what a rule denies stays denied.
func approval(o *host.Options, flag string, approver host.Approver) {
	o.Approver = approver
	_, o.OneQuestion = approver.(*prompter)
	switch flag {
	case "always":
		o.Approver = yesToAll{approver}
	case approveClient:
		o.Approver = clientAsked{}
		return // the configuration may have chosen that nobody is asked
	}
	if o.Mode != host.ModePlan { // which denies, and is about no question that the flag could answer
		o.Mode = map[string]host.Mode{"": o.Mode, "ask": host.ModeAsk, "always": host.ModeAsk, "never": host.ModeNeverAsk}[flag]
	}
}

// yesToAll says yes, but for what only a person can say yes to: that is left to who can be asked.
type yesToAll struct{ person host.Approver }

func (y yesToAll) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	switch {
	case !r.Fresh():
		return host.Yes(), nil
	case y.person != nil:
		return y.person.Approve(ctx, r)
	}
	return host.Answer{}, fmt.Errorf("--approve always does not stand for it: %w", host.ErrNobodyToAsk)
}

// clientAsked passes on the yes that the user has given to the client, where a yes that was given elsewhere counts.
type clientAsked struct{}

func (clientAsked) Approve(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	if r.Fresh() {
		return host.Answer{}, fmt.Errorf("a yes that was given to the client does not stand for it: %w", host.ErrNobodyToAsk)
	}
	return host.Yes(), nil
}

// savedAnswers gives the host the answers that were saved, and a place for more. Those of before that are bound to no work
// folder are left out: they would hold in every project.
func (g *globals) savedAnswers(o *host.Options) error {
	path, err := userFile("approvals.hcl")
	if err != nil {
		return nil //nolint:nilerr // no place, no saving
	}
	saved, err := answers.Load(path)
	o.Remembered = []host.Remembered{} // also when none are left
	var lapsed []string
	for _, a := range saved {
		if a.Workdir == "" {
			lapsed = append(lapsed, a.ID)
			continue
		}
		o.Remembered = append(o.Remembered, a)
	}
	if len(lapsed) > 0 {
		g.complain(fmt.Errorf("saved answers that name no work folder no longer hold (%s); `toolhost approvals` shows them, `toolhost approvals revoke %[1]s` removes them",
			strings.Join(lapsed, " ")))
	}
	o.SaveAnswer = func(r host.Remembered) error { return answers.Save(path, r) }
	return err
}
