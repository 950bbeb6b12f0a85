package main

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/approvals"
	"github.com/toolhost/toolhost/host/config"
)

// A startSetting is a key of the serve block that counts when the host starts.
type startSetting struct {
	key   string
	value func(*config.Serve) string
	// upgrade is whether a successor uses a new value: listeners are handed over as they are.
	upgrade bool
}

var startSettings = []startSetting{
	{"address", func(s *config.Serve) string { return s.Address }, false},
	{"socket", func(s *config.Serve) string { return s.Socket }, false},
	{"hosts", func(s *config.Serve) string { return strings.Join(s.Hosts, "\n") }, true},
	// the files themselves are read again while it runs
	{"tls_cert", func(s *config.Serve) string { return strconv.FormatBool(s.Certificate != "") }, true},
}

// waitingChanges says which keys of the serve block have changed since the host started, and what makes them count; ""
// when none have.
func (p *program) waitingChanges() string {
	var changed []string
	upgrade := true
	for _, s := range startSettings {
		if s.value(p.block()) == s.value(p.served) || s.key == "address" && p.address != "" { // of the flag
			continue
		}
		changed = append(changed, s.key)
		upgrade = upgrade && s.upgrade
	}
	switch {
	case len(changed) == 0:
		return ""
	case upgrade:
		return fmt.Sprintf("the serve block has changed: %s. Fix: toolhost serve --upgrade", strings.Join(changed, ", "))
	}
	return fmt.Sprintf("the serve block has changed: %s. Fix: toolhost serve --stop, then start it again (after "+
		"--upgrade the host still listens where it does now)", strings.Join(changed, ", "))
}

// logWaitingChanges logs once what a reload has changed that counts later.
func (p *program) logWaitingChanges() {
	now := p.waitingChanges()
	if now != "" && now != p.waiting {
		p.log.Warn(now, "config", p.instance.Config().Path)
	}
	p.waiting = now
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
