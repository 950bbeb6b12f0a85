package configured

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/api/pluginstatus"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/server"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/pluginlog"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// PluginService shows the plugins of the instance.
type PluginService struct{ *Services }

// List returns the plugins.
func (s *PluginService) List(ctx context.Context, _ *connect.Request[apiv1.ListPluginsRequest]) (
	*connect.Response[apiv1.ListPluginsResponse], error) {
	return connect.NewResponse(&apiv1.ListPluginsResponse{Plugins: s.all(ctx),
		Problems: s.texts(s.instance.Plugins().Problems)}), nil
}

func (s *Services) all(ctx context.Context) []*apiv1.Plugin {
	return convert.Each(s.instance.Processes(), func(p *supervise.Process) *apiv1.Plugin { return s.plugin(ctx, p) })
}

func (s *Services) plugin(ctx context.Context, p *supervise.Process) *apiv1.Plugin {
	now := p.Status()
	out := pluginstatus.Message(now, s.text)
	lock, notice := s.instance.LockState(ctx, p)
	out.Lock = string(lock)
	if notice != "" {
		pluginstatus.AddNotice(out, sdk.Notice{Kind: sdk.Remark, Text: s.text(notice)})
	}
	if s.options.Usage != nil && now.PID != 0 {
		if memory, cpu := s.options.Usage(now.PID); memory > 0 {
			out.MemoryBytes, out.Cpu = memory, durationpb.New(cpu)
		}
	}
	s.mu.Lock()
	out.LastCrash = s.crashes[now.Name]
	s.mu.Unlock()
	return out
}

// text is a text of a plugin without secrets.
func (s *Services) text(text string) string { return convert.Text(s.instance.Redact(text)) }

func (s *Services) noteCrash(now supervise.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instance == nil { // which knows the secrets
		s.early = append(s.early, now)
		return
	}
	c := &apiv1.Crash{Time: convert.Time(now.Since), Generation: int32(now.Generation), Error: s.text(now.LastError),
		Stderr: convert.Each(now.Stderr, s.text)}
	if old := s.crashes[now.Name]; old == nil || old.Generation != c.Generation {
		s.crashes[now.Name] = c
	}
}

// Watch sends the plugins, and each again when its state changes.
func (s *PluginService) Watch(ctx context.Context, _ *connect.Request[apiv1.WatchPluginsRequest],
	stream *connect.ServerStream[apiv1.WatchPluginsResponse]) error {
	w := s.plugins.Watch()
	defer w.End()
	shown := s.all(ctx)
	if err := stream.Send(&apiv1.WatchPluginsResponse{Snapshot: true, Plugins: shown}); err != nil {
		return err
	}
	for {
		names, dropped, err := w.Next(ctx)
		if err != nil {
			return err
		}
		reply := &apiv1.WatchPluginsResponse{Lost: int32(dropped)}
		everything := dropped > 0 || slices.Contains(names, "")
		for _, p := range s.instance.Processes() {
			if everything || slices.Contains(names, p.Name()) {
				reply.Plugins = append(reply.Plugins, s.plugin(ctx, p))
			}
		}
		if everything {
			for _, old := range shown {
				if !slices.ContainsFunc(reply.Plugins, func(p *apiv1.Plugin) bool { return p.Name == old.Name }) {
					reply.Removed = append(reply.Removed, old.Name)
				}
			}
			shown = reply.Plugins
		}
		if err := stream.Send(reply); err != nil {
			return err
		}
	}
}

// Reload starts plugins again.
func (s *PluginService) Reload(ctx context.Context, r *connect.Request[apiv1.ReloadPluginsRequest]) (
	*connect.Response[apiv1.ReloadPluginsResponse], error) {
	if len(r.Msg.Plugins) == 0 {
		return nil, server.Fail(connect.CodeInvalidArgument, "", "no plugin is named", "")
	}
	for _, name := range r.Msg.Plugins {
		if _, err := s.process(name); err != nil {
			return nil, err
		}
	}
	done, err := s.reload(ctx, r.Msg.Plugins...)
	if err != nil {
		return nil, s.failedError(err)
	}
	return connect.NewResponse(&apiv1.ReloadPluginsResponse{Restarted: done.Restarted,
		Failed: s.texts(done.Failed)}), nil
}

// Reset forgets the crashes of a plugin.
func (s *PluginService) Reset(_ context.Context, r *connect.Request[apiv1.ResetPluginRequest]) (
	*connect.Response[apiv1.ResetPluginResponse], error) {
	p, err := s.process(r.Msg.Plugin)
	if err != nil {
		return nil, err
	}
	p.Reset()
	return connect.NewResponse(&apiv1.ResetPluginResponse{}), nil
}

func (s *Services) process(name string) (*supervise.Process, error) {
	var names []string
	for _, p := range s.instance.Processes() {
		if p.Name() == name {
			return p, nil
		}
		names = append(names, p.Name())
	}
	return nil, server.Fail(connect.CodeNotFound, "", "there is no plugin \""+textutil.Cut(convert.Text(name), 100)+
		"\""+textutil.DidYouMean(name, names), "")
}

const (
	defaultLines = 100
	maxLines     = 10_000
	maxReply     = 500 // lines of a message
	// logInterval is how often a followed log is read.
	logInterval = 300 * time.Millisecond
)

// Logs sends what a plugin printed.
func (s *PluginService) Logs(ctx context.Context, r *connect.Request[apiv1.LogsRequest],
	stream *connect.ServerStream[apiv1.LogsResponse]) error {
	if _, err := s.process(r.Msg.Plugin); err != nil {
		return err
	}
	if r.Msg.Lines < 0 || r.Msg.Lines > maxLines {
		return server.Fail(connect.CodeInvalidArgument, "", "lines must be from 0 to 10,000", "")
	}
	dir, err := bootstrap.LogFolder()
	if err != nil {
		return server.Fail(connect.CodeFailedPrecondition, "", err.Error(), "")
	}
	path, err := pluginlog.Path(dir, r.Msg.Plugin)
	if err != nil {
		return server.Fail(connect.CodeInvalidArgument, "", err.Error(), "")
	}
	n := defaultLines
	if r.Msg.Lines > 0 {
		n = int(r.Msg.Lines)
	}
	lines, end, err := pluginlog.Last(path, n)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return server.Fail(connect.CodeFailedPrecondition, "", err.Error(), "")
	}
	if err := s.sendLines(stream, lines); err != nil || !r.Msg.Follow {
		return err
	}
	tick := time.NewTicker(logInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		info, err := os.Lstat(path)
		if err != nil || info.Size() == end {
			continue // nothing is new
		}
		if lines, end, err = pluginlog.After(path, end); err != nil {
			continue // it is being replaced
		}
		if err := s.sendLines(stream, lines); err != nil {
			return err
		}
	}
}

// sendLines sends at least one message.
func (s *PluginService) sendLines(stream *connect.ServerStream[apiv1.LogsResponse], lines []string) error {
	for first := true; first || len(lines) > 0; first = false {
		n := min(len(lines), maxReply)
		if err := stream.Send(&apiv1.LogsResponse{Lines: convert.Each(lines[:n], s.text)}); err != nil {
			return err
		}
		lines = lines[n:]
	}
	return nil
}
