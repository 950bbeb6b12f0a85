// Package pluginstatus converts the states of plugins to messages of the API and back.
package pluginstatus

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
)

// Message returns the message about a plugin. Redact takes secrets out of texts that the plugin may have written.
func Message(now supervise.Status, redact func(text string) string) *apiv1.Plugin {
	text := func(s string) string { return convert.Text(redact(s)) }
	out := &apiv1.Plugin{Name: now.Name, State: string(now.State), Since: convert.Time(now.Since),
		Reason: convert.Text(now.Reason), Pid: int32(now.PID), StandbyPid: int32(now.Standby),
		Containment: now.Containment, Generation: int32(now.Generation), Restarts: int32(now.Restarts),
		Starts: int32(now.Starts), TotalCrashes: int32(now.TotalCrashes), Quarantines: int32(now.Quarantines),
		CacheHits: int32(now.CacheHits), CacheMisses: int32(now.CacheMisses), Crashes: int32(now.Crashes),
		Calls: int32(now.Calls), Draining: int32(now.Draining), Overdue: int32(now.Overdue),
		Version: convert.Text(now.Version), Tools: int32(now.Tools), Dynamic: now.Dynamic, LastError: text(now.LastError),
		Stderr: convert.Each(now.Stderr, text), RetryAt: convert.Time(now.RetryAt), Source: convert.Text(now.Source)}
	for _, n := range now.Notices {
		AddNotice(out, sdk.Notice{Kind: n.Kind, Text: redact(n.Text)})
	}
	if c := now.Sandbox; c != nil {
		out.Sandbox = &apiv1.Sandbox{Requested: string(c.Requested), Effective: string(c.Effective),
			Missing: convert.Texts(c.Missing), Network: c.Network, Wrapper: convert.Text(c.Wrapper),
			ReadOnly: convert.Texts(c.ReadOnly), Masked: convert.Texts(c.Masked)}
	}
	return out
}

// AddNotice adds a notice to the message about a plugin.
func AddNotice(to *apiv1.Plugin, n sdk.Notice) {
	to.Notices = append(to.Notices, convert.Text(n.Text))
	to.NoticeKinds = append(to.NoticeKinds, string(n.Kind))
}

// Status returns the state in a message.
func Status(p *apiv1.Plugin) supervise.Status {
	out := supervise.Status{Name: p.Name, State: supervise.State(p.State), Since: local(p.Since), Reason: p.Reason,
		PID: int(p.Pid), Standby: int(p.StandbyPid), Containment: p.Containment, Generation: int(p.Generation),
		Restarts: int(p.Restarts), Starts: int(p.Starts), TotalCrashes: int(p.TotalCrashes),
		Quarantines: int(p.Quarantines), CacheHits: int(p.CacheHits), CacheMisses: int(p.CacheMisses),
		Crashes: int(p.Crashes), Calls: int(p.Calls), Draining: int(p.Draining), Overdue: int(p.Overdue),
		Version: p.Version, Tools: int(p.Tools), Dynamic: p.Dynamic, LastError: p.LastError, Stderr: p.Stderr,
		RetryAt: local(p.RetryAt), Source: p.Source}
	for i, text := range p.Notices {
		n := sdk.Notice{Kind: sdk.Remark, Text: text}
		if i < len(p.NoticeKinds) {
			n.Kind = sdk.NoticeKind(p.NoticeKinds[i])
		}
		out.Notices = append(out.Notices, n)
	}
	if s := p.Sandbox; s != nil {
		out.Sandbox = &sandbox.Confinement{Requested: sandbox.Level(s.Requested), Effective: sandbox.Level(s.Effective),
			Missing: s.Missing, ReadOnly: s.ReadOnly, Masked: s.Masked, Network: s.Network, Wrapper: s.Wrapper}
	}
	return out
}

// local is a time as time.Now gives it, the zero time for nil.
func local(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime().Local()
}
