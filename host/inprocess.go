package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// inProcessCleanup is how long handlers have to return when the plugin is closed, as in a process of its own.
const inProcessCleanup = time.Second

type inProcess struct {
	*client.Memory
	close func() error // once
}

// InProcess runs a plugin of the sdk in this process, for tools of the program that embeds the host. Calls have the
// limits of the wire, and a panic of a handler fails its call; but nothing confines the plugin, or ends a handler that
// ignores its context, and what it prints goes to the program's own output. Config is what a plugin that takes
// configuration gets, a JSON object that fits its schema; nil is {}. Close ends the plugin.
func InProcess(ctx context.Context, p *sdk.Plugin, config json.RawMessage) (Plugin, error) {
	m, err := client.InMemory(p)
	if err != nil {
		return nil, err
	}
	out := &inProcess{Memory: m}
	out.close = sync.OnceValue(out.end)
	if err := out.configure(ctx, config); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

func (p *inProcess) configure(ctx context.Context, config json.RawMessage) error {
	d, err := p.Describe(ctx)
	if err != nil {
		return err
	}
	config, err = schema.CheckConfig(d.ConfigSchema, config, nil)
	switch {
	case errors.Is(err, schema.ErrNoConfig):
		return fmt.Errorf("plugin %q takes no configuration", d.Name)
	case err != nil:
		return fmt.Errorf("plugin %q: %w", d.Name, err)
	case config == nil:
		return nil
	}
	workdir, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	if err := p.Configure(ctx, config, workdir, nil); err != nil {
		return fmt.Errorf("plugin %q refused its configuration: %w", d.Name, err)
	}
	return nil
}

func (p *inProcess) Close() error { return p.close() }

// end waits for handlers that still run, but no longer than inProcessCleanup.
func (p *inProcess) end() error {
	select {
	case err := <-p.Stop():
		return err
	case <-time.After(inProcessCleanup):
		return errors.New("a handler of the plugin still runs, though its context has ended")
	}
}
