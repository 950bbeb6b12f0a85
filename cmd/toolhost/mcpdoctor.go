package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/programpath"
	"github.com/toolhost/toolhost/internal/toolname"
)

// A serverFinding is the result of looking for the program of an MCP server.
type serverFinding struct {
	Plugin  string `json:"plugin"`
	Program string `json:"program,omitempty"` // as the configuration names it
	Path    string `json:"path,omitempty"`
	URL     string `json:"url,omitempty"`
	// Usual is true when it is not in PATH, but in a usual folder.
	Usual bool `json:"usual,omitempty"`
	// Bare is true when a program with a minimal PATH finds it too.
	Bare    bool   `json:"bare"`
	Problem string `json:"problem,omitempty"`
}

// barePATH is that of applications that a desktop starts.
const barePATH = "/usr/bin:/bin:/usr/sbin:/sbin"

// needs are programs that others run, by the name of the started one.
var needs = map[string]string{"npx": "node", "npm": "node", "pnpm": "node", "yarn": "node", "tsx": "node", "uvx": "uv"}

// examineServer finds the program of a plugin's MCP server, as the plugin would; false if the plugin has none.
func examineServer(s supervise.Spec) (serverFinding, bool) {
	var c struct {
		Command []string
		Env     map[string]string
		URL     string
	}
	if len(s.Command) == 0 || fsutil.ProgramName(s.Command[0]) != toolname.ProgramPrefix+"mcp" || s.Config == nil ||
		json.Unmarshal(s.Config, &c) != nil {
		return serverFinding{}, false
	}
	f := serverFinding{Plugin: s.Name, URL: s.References.Hide(c.URL)}
	if len(c.Command) == 0 {
		f.Bare = true
		return f, c.URL != ""
	}
	f.Program = s.References.Hide(c.Command[0])
	env := s.Environment()
	for name, value := range c.Env {
		env = append(env, name+"="+value)
	}
	found, err := findServer(c.Command[0], env)
	if err != nil {
		f.Problem = s.References.Hide(err.Error())
		return f, true
	}
	f.Path, f.Usual = found.Path, found.Usual
	_, err = findServer(c.Command[0], append(env, "PATH="+barePATH))
	f.Bare = err == nil || c.Env["PATH"] != "" || s.Env["PATH"] != ""
	return f, true
}

// findServer finds a program, and the programs that it runs.
func findServer(name string, env []string) (*programpath.Program, error) {
	found, err := programpath.Find(name, env)
	if err != nil {
		return nil, err
	}
	if needed := needs[filepath.Base(name)]; needed != "" && !filepath.IsAbs(name) {
		if _, err := programpath.Find(needed, append(slices.Clone(env), "PATH="+found.PATH)); err != nil {
			return nil, fmt.Errorf("%s is at %s, but %w", name, found.Path, err)
		}
	}
	if filepath.IsAbs(name) {
		if _, err := exec.LookPath(name); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (f serverFinding) row() []string {
	switch {
	case f.Problem != "":
		return []string{f.Plugin, f.Program, "missing", f.Problem}
	case f.URL != "":
		return []string{f.Plugin, f.URL, "not tried", ""}
	case !f.Bare:
		return []string{f.Plugin, f.Program, "ok", f.Path + "; an MCP client with a bare PATH does not " +
			"find it: write this path in command"}
	case f.Usual:
		return []string{f.Plugin, f.Program, "ok", f.Path + ", which is not in PATH"}
	}
	return []string{f.Plugin, f.Program, "ok", f.Path}
}
