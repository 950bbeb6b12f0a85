package main

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/modelapi"
)

func sumTokens(tools []*host.Tool) (sum int) {
	for _, t := range tools {
		sum += modelapi.EstimateTokens(t)
	}
	return sum
}

func tokenSum(tools []*host.Tool) string {
	return fmt.Sprintf("%s: about %s in each prompt\n", counted(len(tools), "tool"), counted(sumTokens(tools), "token"))
}

// deferred are the tools that a prompt offers at first when all are deferred: those of discover --deferred.
func deferred(ctx context.Context, s *bootstrap.Instance) ([]*host.Tool, []error) {
	c, err := s.Catalog().Deferred()
	if err != nil {
		return nil, []error{err}
	}
	return c.Tools(ctx)
}

// saving says what a prompt is spared when it offers only the search tool.
func saving(tools, deferred []*host.Tool) string {
	all, alone := sumTokens(tools), sumTokens(deferred)
	if alone >= all {
		return fmt.Sprintf("a search tool instead of them: about %s, which saves nothing\n", counted(alone, "token"))
	}
	return fmt.Sprintf("a search tool instead of them: about %s, which saves %d (%d %%)\n", counted(alone, "token"), all-alone, (all-alone)*100/all)
}
