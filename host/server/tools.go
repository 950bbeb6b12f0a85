package server

import (
	"context"
	"encoding/base64"
	"errors"
	"path"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

type hostService struct{ *Server }

// GetInfo describes the host.
func (s *hostService) GetInfo(ctx context.Context, _ *connect.Request[apiv1.GetInfoRequest]) (
	*connect.Response[apiv1.GetInfoResponse], error) {
	out := &apiv1.GetInfoResponse{}
	if s.options.Info != nil {
		out = s.options.Info()
	}
	p := who(ctx)
	out.Version, out.Pid, out.Started = s.options.Version, int32(processID), convert.Time(s.started)
	out.Role, out.TokenName, out.Stopping = p.role.Message(), p.name, s.stopping.Err() != nil
	running, _ := s.calls.Running()
	out.RunningCalls, out.QueuedCalls = int32(running), int32(s.options.Backend.Host().Queued())
	s.mu.Lock()
	out.Addresses = convert.Texts(s.addresses)
	s.mu.Unlock()
	for name, there := range map[string]bool{"approvals": s.options.Approvals != nil, "plugins": s.options.Plugins != nil,
		"history": s.options.History != nil, "policy": s.options.Policy != nil,
		"configuration": s.options.Configuration != nil, "mcp": s.options.MCP != nil,
		"metrics": s.options.Metrics != nil, "console": s.options.Console != nil} {
		if there {
			out.Parts = append(out.Parts, name)
		}
	}
	slices.Sort(out.Parts)
	return connect.NewResponse(out), nil
}

const maxPage = 1000 // the most tools of a page

// ListTools lists the catalog.
func (s *hostService) ListTools(ctx context.Context, r *connect.Request[apiv1.ListToolsRequest]) (
	*connect.Response[apiv1.ListToolsResponse], error) {
	in := r.Msg
	if _, err := path.Match(in.Pattern, ""); err != nil {
		return nil, Fail(connect.CodeInvalidArgument, "", "the pattern is not a valid glob", "Use one such as shell__*.")
	}
	after, err := base64.RawURLEncoding.DecodeString(in.PageToken)
	if err != nil {
		return nil, Fail(connect.CodeInvalidArgument, "", "invalid page token",
			"Use next_page_token of the last ListTools response.")
	}
	catalog := s.options.Backend.Catalog()
	tools, problems := catalog.Tools(ctx)
	if in.Await && s.awaitTools(ctx) {
		tools, problems = catalog.Tools(ctx)
	}
	if ctx.Err() != nil {
		return nil, connect.NewError(connect.CodeCanceled, ctx.Err())
	}
	tools = slices.DeleteFunc(slices.Clone(tools), func(t *host.Tool) bool {
		return in.Pattern != "" && !toolname.Matches(in.Pattern, t.Name) || in.Plugin != "" && t.Plugin != in.Plugin
	})
	out := &apiv1.ListToolsResponse{Total: int32(len(tools)),
		Problems: convert.Each(problems, func(p error) string { return convert.Text(p.Error()) })}
	size := maxPage
	if in.PageSize > 0 {
		size = min(int(in.PageSize), maxPage)
	}
	from, _ := slices.BinarySearchFunc(tools, string(after), func(t *host.Tool, name string) int {
		return strings.Compare(t.Name, name)
	})
	if len(after) > 0 && from < len(tools) && tools[from].Name == string(after) {
		from++
	}
	for _, t := range tools[from:min(from+size, len(tools))] {
		out.Tools = append(out.Tools, convert.Tool(t, in.Schemas))
	}
	if from+size < len(tools) {
		out.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(tools[from+size-1].Name))
	}
	return connect.NewResponse(out), nil
}

// awaitTools waits for tools that plugins expect soon, and reports whether there are others now.
func (s *hostService) awaitTools(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	return s.options.Backend.Host().AwaitTools(ctx, func(string, string) {})
}

// DescribeTool returns one tool.
func (s *hostService) DescribeTool(ctx context.Context, r *connect.Request[apiv1.DescribeToolRequest]) (
	*connect.Response[apiv1.DescribeToolResponse], error) {
	name, err := s.resolve(ctx, r.Msg.Tool)
	if err != nil {
		return nil, err
	}
	t, err := s.options.Backend.Catalog().Tool(ctx, name)
	if err != nil {
		return nil, coded(err)
	}
	return connect.NewResponse(&apiv1.DescribeToolResponse{Tool: convert.Tool(t, true)}), nil
}

// resolve returns the full name of a tool that may be given by its address, mcp://SERVER/TOOL.
func (s *hostService) resolve(ctx context.Context, name string) (string, error) {
	if !strings.Contains(name, "://") {
		return name, nil
	}
	tool, err := s.options.Backend.Catalog().Resolve(ctx, name)
	if _, is := errors.AsType[*sdk.Error](err); is {
		return "", coded(err)
	}
	if err != nil {
		return "", Fail(connect.CodeInvalidArgument, sdk.CodeToolNotFound, err.Error(), "")
	}
	return tool, nil
}

const maxHits = 100 // the most tools that a search returns

// SearchTools searches the catalog.
func (s *hostService) SearchTools(ctx context.Context, r *connect.Request[apiv1.SearchToolsRequest]) (
	*connect.Response[apiv1.SearchToolsResponse], error) {
	out := &apiv1.SearchToolsResponse{}
	for _, h := range s.options.Backend.Catalog().Search(ctx, r.Msg.Query, min(int(r.Msg.Limit), maxHits)) {
		out.Hits = append(out.Hits, &apiv1.SearchToolsResponse_Hit{Tool: convert.Tool(h.Tool, false), Score: h.Score})
	}
	return connect.NewResponse(out), nil
}
