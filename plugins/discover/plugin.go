// Command toolhost-plugin-discover is a plugin whose tools a project describes itself: one command prints them as JSON,
// another is run for each call. It speaks the protocol of Gemini CLI's discovery and call commands.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk"
)

func main() { sdk.Serve(newPlugin()) }

const version = "0.1.0"

func newPlugin() *sdk.Plugin { return newRefresher().plugin }

func newRefresher() *refresher {
	k := &refresher{plugin: sdk.New("discover", version)}
	k.plugin.Dynamic()
	sdk.Configure(k.plugin, func(ctx context.Context, r *sdk.Request, c config) error {
		return k.configure(ctx, r.Workdir, c)
	})
	return k
}

// config is the plugin's config block. A command is a string, which is split into words, or a list of words.
type config struct {
	DiscoveryCommand   json.RawMessage `json:"discovery_command,omitempty" jsonschema:"The command that prints the tools as a JSON array: a string, split into words the way a shell does but not run through one, or a list of words."`
	CallCommand        json.RawMessage `json:"call_command,omitempty" jsonschema:"The command that runs a tool: it gets the tool's name as its last word and the arguments as JSON on standard input. A string or a list of words."`
	TimeoutSeconds     float64         `json:"timeout_seconds,omitempty" minimum:"0.001" maximum:"3600" default:"10" jsonschema:"How long the discovery command may run."`
	CallTimeoutSeconds float64         `json:"call_timeout_seconds,omitempty" minimum:"0.001" maximum:"3600" default:"120" jsonschema:"How long a call may run."`
	MaxDiscoveryBytes  int             `json:"max_discovery_bytes,omitempty" minimum:"1" maximum:"67108864" default:"10485760" jsonschema:"The most that the discovery command may print."`
	MaxOutputBytes     int             `json:"max_output_bytes,omitempty" minimum:"1" maximum:"1572864" default:"1048576" jsonschema:"How much of what a call prints its result holds; all of it is streamed."`
	Watch              []string        `json:"watch,omitempty" jsonschema:"Files and folders: when one of them changes, the discovery command runs again. The files that discovery_command names are watched in any case."`
	Tool               json.RawMessage `json:"tool,omitempty" jsonschema:"Tools that need no script: blocks with the tool's name as label, and in them description, command, params or schema, stdin, timeout_seconds, allow_dash, read_only, destructive, idempotent, open_world, cost_tier."`
}

const (
	maxSeconds   = 3600
	maxDiscovery = 64 << 20
	// maxOutput keeps a result under the wire's limit: JSON output is in it twice, as text and as structured.
	maxOutput  = 1536 << 10
	maxWatched = 64 // paths
)

// settings are a checked config.
type settings struct {
	workdir          string
	discovery, call  command
	discoveryTimeout time.Duration
	callTimeout      time.Duration
	maxDiscovery     int
	maxOutput        int
	watch            []string // absolute
	tools            []sdk.BoundTool
}

// settings checks the configuration. Programs with a path are relative to workdir from then on.
func (c *config) settings(workdir string) (*settings, error) {
	s := &settings{workdir: workdir}
	for _, read := range []func(*config) error{s.readCommands, s.readLimits, s.readWatch, s.readTools} {
		if err := read(c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *settings) readCommands(c *config) (err error) {
	if s.discovery, err = readCommand("discovery_command", c.DiscoveryCommand, s.workdir); err != nil {
		return err
	}
	if s.call, err = readCommand("call_command", c.CallCommand, s.workdir); err != nil {
		return err
	}
	if s.discovery.none() && !s.call.none() {
		return invalidConfig("discovery_command is missing: name the command that prints the tools")
	}
	return nil
}

func (s *settings) readLimits(c *config) (err error) {
	if s.discoveryTimeout, err = seconds("timeout_seconds", c.TimeoutSeconds, 10); err != nil {
		return err
	}
	if s.callTimeout, err = seconds("call_timeout_seconds", c.CallTimeoutSeconds, 120); err != nil {
		return err
	}
	if s.maxDiscovery, err = size("max_discovery_bytes", c.MaxDiscoveryBytes, 10<<20, maxDiscovery); err != nil {
		return err
	}
	s.maxOutput, err = size("max_output_bytes", c.MaxOutputBytes, 1<<20, maxOutput)
	return err
}

func (s *settings) readWatch(c *config) error {
	switch {
	case len(c.Watch) > maxWatched:
		return invalidConfig("watch has %d paths, at most %d are allowed; name a folder instead of its files", len(c.Watch),
			maxWatched)
	case len(c.Watch) > 0 && s.discovery.none():
		return invalidConfig("watch says when to run discovery_command again, which is missing; add it or remove watch")
	}
	for _, path := range c.Watch {
		if strings.TrimSpace(path) == "" || strings.ContainsRune(path, 0) {
			return invalidConfig("watch has the path %q; name a file or a folder", path)
		}
		s.watch = append(s.watch, fsutil.Absolute(s.workdir, path))
	}
	return nil
}

func seconds(key string, value, fallback float64) (time.Duration, error) {
	value = cmp.Or(value, fallback)
	if value < 0 || value > maxSeconds {
		return 0, invalidConfig("%s = %v: it must be more than 0 and at most %d", key, value, maxSeconds)
	}
	return time.Duration(value * float64(time.Second)), nil
}

func size(key string, value, fallback, most int) (int, error) {
	value = cmp.Or(value, fallback)
	if value < 1 || value > most {
		return 0, invalidConfig("%s = %d: it must be from 1 to %d", key, value, most)
	}
	return value, nil
}

func invalidConfig(format string, a ...any) error {
	return &sdk.Error{Name: "InvalidConfig", Message: fmt.Sprintf(format, a...)}
}
