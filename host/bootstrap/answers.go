package bootstrap

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/answers"
)

// Answers are the approvals that were remembered for good, as `toolhost approvals` lists them.
func Answers() ([]host.Remembered, error) {
	path, err := UserFile("approvals.hcl")
	if err != nil {
		return nil, err
	}
	return answers.Load(path)
}

// RevokeAnswer removes a remembered approval, and says whether there was one.
func RevokeAnswer(id string) (bool, error) {
	path, err := UserFile("approvals.hcl")
	if err != nil {
		return false, err
	}
	return answers.Remove(path, id)
}

// setRemembered gives the host the approvals that are remembered, and saves more. Those without a work folder, as older
// versions saved them, are left out: they would hold in every project.
func (i *Instance) setRemembered(out *host.Options) error {
	path, err := UserFile("approvals.hcl")
	if err != nil {
		return nil //nolint:nilerr // without a place nothing is remembered
	}
	out.SaveAnswer = func(r host.Remembered) error { return answers.Save(path, r) }
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
