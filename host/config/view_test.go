package config

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"
)

// A view is a Config as JSON that people like to read: what is not set is left out, times are words, and the folder of
// the file is DIR.
type view struct {
	PluginDirs []string            `json:"plugin_dirs,omitempty"`
	Plugins    []pluginView        `json:"plugins,omitempty"`
	Discovery  []discoveryView     `json:"discovery,omitempty"`
	Tools      map[string]toolView `json:"tools,omitempty"`
}

type pluginView struct {
	Name         string            `json:"name"`
	Source       string            `json:"source"`
	Command      []string          `json:"command,omitempty"`
	Dir          string            `json:"dir,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	SHA256       string            `json:"sha256,omitempty"`
	Eager        bool              `json:"eager,omitempty"`
	StartTimeout span              `json:"start_timeout,omitzero"`
	Restart      restartView       `json:"restart,omitzero"`
	Idempotent   []string          `json:"idempotent,omitempty"`
	Config       json.RawMessage   `json:"config,omitempty"`
}

type restartView struct {
	MaxCrashes int  `json:"max_crashes,omitzero"`
	Window     span `json:"window,omitzero"`
	Backoff    span `json:"backoff,omitzero"`
	BackoffMax span `json:"backoff_max,omitzero"`
}

type discoveryView struct {
	Name    string   `json:"name"`
	Source  string   `json:"source"`
	Command []string `json:"command"`
	Dir     string   `json:"dir"`
	Timeout span     `json:"timeout"`
}

type toolView struct {
	Source         string `json:"source"`
	Timeout        span   `json:"timeout,omitzero"`
	MaxResultBytes int    `json:"max_result_bytes,omitzero"`
}

type span time.Duration

func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

func viewOf(c *Config) view {
	v := view{PluginDirs: portable(c, c.PluginDirs), Tools: map[string]toolView{}}
	for _, p := range c.Plugins {
		r := p.Restart
		v.Plugins = append(v.Plugins, pluginView{
			Name: p.Name, Source: p.Source, Command: portable(c, p.Command), Dir: portable(c, []string{p.Dir})[0], Env: p.Env,
			SHA256: p.SHA256, Eager: p.Eager, StartTimeout: span(p.StartTimeout), Idempotent: p.Idempotent, Config: p.Config,
			Restart: restartView{r.MaxCrashes, span(r.Window), span(r.Backoff), span(r.BackoffMax)},
		})
	}
	for _, d := range c.Discovery {
		dir := portable(c, []string{d.Dir})[0]
		v.Discovery = append(v.Discovery, discoveryView{d.Name, d.Source, portable(c, d.Command), dir, span(d.Timeout)})
	}
	for name, t := range c.Tools {
		v.Tools[name] = toolView{t.Source, span(t.Timeout), t.MaxResultBytes}
	}
	return v
}

func portable(c *Config, paths []string) []string {
	var out []string
	for _, p := range paths {
		if rel, err := filepath.Rel(c.Dir, p); err == nil && filepath.IsAbs(p) && len(rel) < len(p) {
			p = strings.TrimSuffix("DIR/"+rel, "/.")
		}
		out = append(out, filepath.ToSlash(p))
	}
	return out
}
