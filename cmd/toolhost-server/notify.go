package main

import (
	"reflect"

	"github.com/toolhost/toolhost/host/approvals"
)

// tellOf tells those of a question whom the configuration names.
func (p *program) tellOf(q *approvals.Question) {
	if n := p.notifier.Load(); n != nil {
		n.Notify(q)
	}
}

// notify begins to tell those whom the configuration names, if they are others than before.
func (p *program) notify() {
	now := p.instance.Config().Notify
	if p.notifier.Load() != nil && reflect.DeepEqual(now, p.told) {
		return
	}
	var targets []approvals.Target
	for _, n := range now {
		targets = append(targets, approvals.Target{Name: n.Name, URL: n.URL, Secret: n.Secret, Command: n.Command})
	}
	p.told = now
	old := p.notifier.Swap(approvals.NewNotifier(targets, approvals.NotifierOptions{Redact: p.instance.Redact,
		Logger: p.log}))
	if old != nil {
		old.Close()
	}
}
