package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/answers"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// Approve says who approves calls, in place of the approval mode of the configuration.
type Approve string

// The values of Approve; the empty one leaves it to the configuration.
const (
	ApproveAsk    Approve = "ask"    // the Approver
	ApproveAlways Approve = "always" // no one is asked; calls that a rule always asks about go to the Approver
	ApproveNever  Approve = "never"  // calls that need approval are refused
	ApproveClient Approve = "client" // a client has asked its user; calls that a rule always asks about are refused
)

// check refuses values that there are not: one that was mistyped could loosen the mode of the configuration.
func (a Approve) check() error {
	switch a {
	case "", ApproveAsk, ApproveAlways, ApproveNever, ApproveClient:
		return nil
	}
	return fmt.Errorf("bootstrap: Options.Approve %q is not one of ask, always, never, client", a)
}

// By names what answers in place of a person, for the record: approve=always.
func (a Approve) By() string { return "approve=" + string(a) }

// setApproval says who approves calls.
func (i *Instance) setApproval(out *host.Options) {
	out.Approver, out.Input = i.options.Approver, i.options.Input
	switch i.options.Approve {
	case ApproveAlways:
		out.Approver = alwaysApprover{i.options.Approver}
	case ApproveClient:
		out.Approver = clientApprover{}
		return // the configuration may deny what would be asked
	}
	if out.Mode != host.ModePlan && i.options.Approve != "" { // plan denies, and asks nothing that could be answered
		out.Mode = host.ModeAsk
		if i.options.Approve == ApproveNever {
			out.Mode = host.ModeNeverAsk
		}
	}
}

// alwaysApprover approves everything that does not need a person's answer; the rest goes to the Approver.
type alwaysApprover struct{ person host.Approver }

func (a alwaysApprover) ApproveAtOnce(r *host.ApprovalRequest) (host.Answer, bool) {
	return host.Answer{Approved: true, By: ApproveAlways.By()}, !r.Fresh()
}

func (a alwaysApprover) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	if a.person != nil {
		return a.person.Approve(ctx, r)
	}
	return host.Answer{}, fmt.Errorf("automatic approval (--approve always) does not cover a call that a rule always "+
		"asks about: %w", host.ErrNoApprover)
}

// clientApprover accepts the approval of a client's user, where an approval given elsewhere counts.
type clientApprover struct{}

func (clientApprover) ApproveAtOnce(r *host.ApprovalRequest) (host.Answer, bool) {
	seen := !r.Once() // the client's user has not seen a call that a plugin makes
	return host.Answer{Approved: true, By: ApproveClient.By()}, seen
}

func (clientApprover) Approve(context.Context, *host.ApprovalRequest) (host.Answer, error) {
	return host.Answer{}, fmt.Errorf("the approval given to the client does not cover it: %w", host.ErrNoApprover)
}

// Answers are the remembered approvals, as `toolhost approvals` lists them.
func Answers() ([]host.Remembered, error) {
	path, err := UserFile("approvals.hcl")
	if err != nil {
		return nil, err
	}
	known, err := answers.Load(path)
	return known, answersError(err, path)
}

// answersError adds to an error of the file what it is, or what to do about its folder.
func answersError(err error, path string) error {
	if _, mistakes := errors.AsType[*answers.Error](err); mistakes {
		return fmt.Errorf("%w\n%s has the approvals that toolhost remembers. Restore it, or remove it to be asked again", err,
			fsutil.Shortened(path))
	}
	return fsutil.FolderError(err, filepath.Dir(path), otherConfig)
}

// RevokeAnswer removes a remembered approval, and reports whether there was one.
func RevokeAnswer(id string) (bool, error) {
	path, err := UserFile("approvals.hcl")
	if err != nil {
		return false, err
	}
	removed, err := answers.Remove(path, id)
	return removed, answersError(err, path)
}

// setRemembered gives the host the remembered approvals, and saves new ones. Those without a work folder, as older
// versions saved them, are left out: they would hold in every project.
func (i *Instance) setRemembered(out *host.Options) error {
	path, err := UserFile("approvals.hcl")
	if err != nil || i.options.Remote {
		return nil //nolint:nilerr // without a place nothing is remembered
	}
	out.SaveAnswer = func(r host.Remembered) error { return answersError(answers.Save(path, r), path) }
	out.Remembered = []host.Remembered{} // also when none are left
	saved, err := Answers()
	var lapsed []string
	for _, a := range saved {
		if a.Workdir == "" {
			lapsed = append(lapsed, a.ID)
		} else {
			out.Remembered = append(out.Remembered, a)
		}
	}
	if len(lapsed) > 0 {
		i.notice(NoticeAnswers, "", fmt.Errorf("saved answers that name no work folder no longer hold (%s); "+
			"`toolhost approvals` shows them, `toolhost approvals revoke %[1]s` removes them", strings.Join(lapsed, " ")))
	}
	return err
}

// dropRevoked revokes the saved approvals that the file no longer has. It revokes none while the file cannot be read.
func (i *Instance) dropRevoked() {
	if i.options.Remote {
		return // nothing is saved
	}
	known := i.host.Remembered() // first: one that is saved meanwhile is not among them
	saved, err := Answers()
	if err != nil {
		return
	}
	for _, a := range known {
		if a.Saved && !slices.ContainsFunc(saved, func(s host.Remembered) bool { return s.ID == a.ID }) {
			i.host.Revoke(a.ID)
		}
	}
}
