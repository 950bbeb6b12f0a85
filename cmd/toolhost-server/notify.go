package main

import (
	"reflect"

	"github.com/toolhost/toolhost/host/approvals"
)

// notifyOf notifies the targets of the configuration of a question.
func (p *program) notifyOf(q *approvals.Question) {
	if n := p.notifier.Load(); n != nil {
		n.Notify(q)
	}
}

// setTargets uses the notify blocks of the configuration, if they have changed.
func (p *program) setTargets() {
	now := p.instance.Config().Notify
	if p.notifier.Load() != nil && reflect.DeepEqual(now, p.targets) {
		return
	}
	var targets []approvals.Target
	for _, n := range now {
		targets = append(targets, approvals.Target{Name: n.Name, URL: n.URL, Secret: n.Secret, Command: n.Command})
	}
	p.targets = now
	old := p.notifier.Swap(approvals.NewNotifier(targets, approvals.NotifierOptions{Redact: p.instance.Redact,
		Logger: p.log}))
	if old != nil {
		old.Close()
	}
}
