package supervise

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/sdk"
)

// configure checks the plugin's configuration against the schema it publishes, and hands it over.
func (g *generation) configure(ctx context.Context, d *sdk.Description, spec Spec, workdir string) error {
	if len(d.ConfigSchema) == 0 {
		if spec.Config != nil && string(bytes.TrimSpace(spec.Config)) != "{}" {
			return &invalidError{fmt.Errorf("it takes no configuration, but %s has a config block for it; remove that", cmp.Or(spec.Source, "its spec"))}
		}
		return nil
	}
	config := spec.Config
	if config == nil {
		config = json.RawMessage("{}")
	}
	if err := checkConfig(d.ConfigSchema, config, spec.References.Config); err != nil {
		return &invalidError{err}
	}
	if err := g.client.Configure(ctx, config, workdir); err != nil {
		return refused(ctx, err)
	}
	return nil
}

func checkConfig(against, config json.RawMessage, shown map[string]string) error {
	s, err := schema.Compile(against)
	if err != nil {
		return fmt.Errorf("the schema of its configuration is broken: %w", err)
	}
	if invalid := s.ValidateShowing(config, shown); invalid != nil {
		return fmt.Errorf("its configuration is wrong: %w", invalid)
	}
	return nil
}

// refused tells a plugin that has something against its configuration from one that broke, or may take it later.
func refused(ctx context.Context, err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if ok && ctx.Err() == nil && !e.Retryable && e.Code != sdk.CodeTimeout && e.Code != sdk.CodeCanceled {
		return &invalidError{fmt.Errorf("it refused its configuration: %s", e.Message)}
	}
	return fmt.Errorf("configuring it: %w", err)
}
