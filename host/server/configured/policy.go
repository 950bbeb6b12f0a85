package configured

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/server"
	"github.com/toolhost/toolhost/sdk"
)

// PolicyService explains the rules of the instance.
type PolicyService struct{ *Services }

// Layers returns the rules.
func (s *PolicyService) Layers(context.Context, *connect.Request[apiv1.LayersRequest]) (
	*connect.Response[apiv1.LayersResponse], error) {
	out := &apiv1.LayersResponse{Mode: string(s.mode()),
		Floor: !s.instance.Config().Host.WithoutFloor || !s.instance.Trusted()}
	for _, l := range s.instance.Layers() {
		layer := &apiv1.PolicyLayer{Name: l.Name, TightenOnly: l.TightenOnly}
		for _, r := range l.Rules {
			layer.Rules = append(layer.Rules, &apiv1.PolicyRule{Name: convert.Text(r.Name), Source: convert.Text(r.Source),
				Tools: convert.Texts(r.Tools), Hints: convert.Hints(sdk.Hints(r.Hints)), Categories: convert.Texts(r.Categories),
				CostTiers: convert.Texts(r.CostTiers), Callers: convert.Texts(r.Callers), Effect: string(r.Effect),
				Reason: convert.Text(r.Reason), Conditional: r.When != nil || r.Judge != nil, Arguments: convert.Texts(r.Names)})
		}
		out.Layers = append(out.Layers, layer)
	}
	return connect.NewResponse(out), nil
}

// mode is the approval mode in use.
func (s *Services) mode() host.Mode { return cmp.Or(s.instance.Host().Mode(), host.ModeAsk) }

var modes = []host.Mode{host.ModeAsk, host.ModeAutoEdit, host.ModePlan, host.ModeNeverAsk}

// Explain explains a call.
func (s *PolicyService) Explain(ctx context.Context, r *connect.Request[apiv1.ExplainRequest]) (
	*connect.Response[apiv1.ExplainResponse], error) {
	c := s.instance.Catalog()
	tool, err := c.Resolve(ctx, r.Msg.Tool)
	if err != nil {
		return nil, server.Fail(connect.CodeNotFound, sdk.CodeToolNotFound, err.Error(), "")
	}
	call := host.Call{Tool: tool, Arguments: json.RawMessage(r.Msg.Arguments), Caller: cmp.Or(r.Msg.Caller, "api")}
	d, err := c.Explain(ctx, call)
	if e, is := errors.AsType[*sdk.Error](err); is {
		return connect.NewResponse(&apiv1.ExplainResponse{Error: convert.Error(e)}), nil
	} else if err != nil {
		return nil, err
	}
	out := &apiv1.ExplainResponse{Decision: convert.Decision(d)}
	for _, m := range modes {
		if m == s.mode() {
			continue
		}
		if d, err := c.ExplainMode(ctx, call, m); err == nil {
			out.OtherModes = append(out.OtherModes, &apiv1.ModeDecision{Mode: string(m), Decision: convert.Decision(d)})
		}
	}
	return connect.NewResponse(out), nil
}
