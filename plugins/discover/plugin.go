package main

import (
	"context"

	"github.com/toolhost/toolhost/sdk"
)

const version = "0.1.0"

func newPlugin() *sdk.Plugin { return newKeeper().plugin }

func newKeeper() *keeper {
	k := &keeper{plugin: sdk.New("discover", version)}
	k.plugin.Dynamic()
	sdk.Configure(k.plugin, func(ctx context.Context, r *sdk.Request, c config) error {
		return k.configure(ctx, r.Workdir, c)
	})
	return k
}
