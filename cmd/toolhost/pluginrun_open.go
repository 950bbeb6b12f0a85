package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
)

// open makes the session of the one plugin.
func (r *pluginRun) open(ctx context.Context, args []string) (*bootstrap.Instance, error) {
	o := r.g.options()
	o.Refresh, o.Approve, o.OnState = true, bootstrap.Approve(r.f.approve), r.tellState
	o.OnToolsChanged = func(string) {
		select {
		case r.changed <- struct{}{}:
		default: // one is waiting
		}
	}
	typed := isTerminal(r.g.in)
	if person := r.g.personAt(!typed); person != nil {
		o = r.g.asking(o, person)
		if typed {
			o.Approver, o.OneQuestion = &foreground{o.Approver, &r.aside}, false
		}
	}
	if !isPath(args[0]) {
		o.Plugins = args[:1]
		s, err := r.g.open(ctx, o)
		return s, orFile(args[0], err)
	}
	program, err := filepath.Abs(args[0])
	if err != nil {
		return nil, err
	}
	r.name = labelOf(program)
	spec := supervise.Spec{Name: r.name, Command: append([]string{program}, args[1:]...), Source: program}
	return bootstrap.OpenProgram(ctx, spec, o)
}

// orFile tells whoever named a program in this folder, where a plugin's name was expected, how to name it.
func orFile(word string, err error) error {
	if info, e := os.Stat(word); err == nil || e != nil || !info.Mode().IsRegular() {
		return err
	}
	return fmt.Errorf("%w\nfor the program %s in this folder write ./%s", err, word, word)
}

var noLabel = regexp.MustCompile(`[^a-z0-9]+`)

// labelOf makes the name of a plugin of that of its program.
func labelOf(program string) string {
	name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(program), ".exe"), "toolhost-plugin-")
	name = strings.TrimLeft(noLabel.ReplaceAllString(strings.ToLower(name), "-"), "-0123456789")
	return cmp.Or(strings.Trim(name[:min(len(name), 32)], "-"), "plugin")
}

// A foreground has those calls refused that run in the background and would have to be asked about: the terminal is read
// for the next line meanwhile.
type foreground struct {
	host.Approver
	aside *sync.Map
}

// Approve asks about calls that are waited for.
func (a *foreground) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	if _, aside := a.aside.Load(r.CallID); aside {
		return host.Answer{}, errors.New("it runs in the background; call it without the &")
	}
	return a.Approver.Approve(ctx, r)
}
