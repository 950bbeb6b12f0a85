package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk/proctree"
)

func newDoctor(g *options) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this machine offers: sandbox levels, versions, folders",
		Long: "Show what this machine offers to confine plugins, which versions and folders are used, and for\n" +
			"each plugin of the configuration the sandbox level that is asked for and the one that can be\n" +
			"reached, or why it could not be started. No plugin is started, and no discovery command is run.\n" +
			"The exit code is 2 if the configuration cannot be used, 4 if a plugin could not be started, for\n" +
			"example because it requires more than this machine offers, or because its program is missing;\n" +
			"otherwise 0. For MCP servers it shows where their programs are found, and which folders were\n" +
			"searched for one that is missing.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.doctor(cmd.Context(), format) },
	}
	chooseFormat(cmd, &format, "%s", "table", "json")
	return cmd
}

// A diagnosis is the output of doctor.
type diagnosis struct {
	Versions map[string]string `json:"versions"`
	Machine  []finding         `json:"machine"`
	Folders  []folderFinding   `json:"folders"`
	Plugins  []pluginFinding   `json:"plugins"`
	// Discovery are the commands that find plugins.
	Discovery []pluginFinding `json:"discovery,omitempty"`
	// Servers are the MCP servers of plugins.
	Servers  []serverFinding `json:"mcp_servers,omitempty"`
	Problems []string        `json:"problems,omitempty"`
}

// A pluginFinding describes the sandbox of one plugin, or of one discovery command, if it were started now.
type pluginFinding struct {
	Name string `json:"name"`
	sandbox.Confinement
	Refused string `json:"refused,omitempty"` // why it would not be started
	Source  string `json:"source,omitempty"`
}

func (g *options) doctor(ctx context.Context, format string) error {
	c, err := g.load()
	m := proctree.DetectCapabilities()
	bubblewrap, _ := exec.LookPath("bwrap")
	d := diagnosis{Versions: versions(), Machine: examine(m, bubblewrap), Folders: g.folders(c),
		Plugins: []pluginFinding{}}
	if err == nil {
		there := c.FindOffline(ctx)
		d.plugins(there, m)
		_, err = bootstrap.Answers()
	}
	if err != nil {
		d.Problems = append(d.Problems, err.Error()+adviceFor(err))
	}
	d.conceal(g)
	if format != "json" {
		d.printTables(g)
	} else if err := g.printJSON(d); err != nil {
		return err
	}
	if none, is := errors.AsType[*bootstrap.NotFoundError](err); err != nil && !(is && !none.Named) {
		return &exitError{code: exitUsage}
	}
	return d.verdict()
}

// conceal removes the values by reference from errors.
func (d *diagnosis) conceal(g *options) {
	for i, p := range d.Problems {
		d.Problems[i] = g.hide(p)
	}
	for _, findings := range [][]pluginFinding{d.Plugins, d.Discovery} {
		for i, p := range findings {
			findings[i].Refused = g.hide(p.Refused)
		}
	}
	for i, f := range d.Servers {
		d.Servers[i].Problem, d.Servers[i].URL = g.hide(f.Problem), g.hide(f.URL)
	}
}

// verdict is an error when a plugin could not be started.
func (d *diagnosis) verdict() error {
	if slices.ContainsFunc(slices.Concat(d.Plugins, d.Discovery), func(p pluginFinding) bool { return p.Refused != "" }) ||
		slices.ContainsFunc(d.Servers, func(f serverFinding) bool { return f.Problem != "" }) {
		return &exitError{code: exitUnavailable}
	}
	return nil
}

func versions() map[string]string {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = []byte("-")
	}
	return map[string]string{"toolhost": version, "go": runtime.Version(), "system": runtime.GOOS + "/" + runtime.GOARCH,
		"kernel": strings.TrimSpace(string(kernel)), "plugin_protocol": fmt.Sprint(wire.ProtocolVersion)}
}

func (d *diagnosis) plugins(there *bootstrap.Plugins, m proctree.Capabilities) {
	for _, p := range there.Problems {
		d.Problems = append(d.Problems, p.Error())
	}
	for _, s := range there.Specs {
		got, err := there.Confinement(s, m)
		d.Plugins = append(d.Plugins, findingOf(s, got, err))
		if server, is := examineServer(s); is {
			d.Servers = append(d.Servers, server)
		}
	}
	for _, c := range there.Discoveries() {
		got, err := c.Confine(m)
		d.Discovery = append(d.Discovery, findingOf(supervise.Spec{Name: c.Name, Source: c.Source, Command: c.Command,
			Dir: c.Dir}, got, err))
	}
}

// findingOf reports problems of the sandbox before those of the program.
func findingOf(spec supervise.Spec, got sandbox.Confinement, err error) pluginFinding {
	p := pluginFinding{Name: spec.Name, Confinement: got, Source: spec.Source}
	if err = cmp.Or(err, spec.Verify()); err != nil {
		p.Refused = err.Error()
	}
	return p
}

// widest is where lines are cut. Missing features are worth a line that a terminal wraps.
const widest = 1000

func (d *diagnosis) printTables(g *options) {
	v := d.Versions
	fmt.Fprintf(g.out, "toolhost %s, %s, %s, kernel %s, plugin protocol %s\n\n", v["toolhost"], v["go"], v["system"],
		v["kernel"], v["plugin_protocol"])
	rows := [][]string{{"MACHINE", "STATE", ""}}
	for _, f := range d.Machine {
		state, text := "missing", f.Consequence+"; "+f.Remedy
		if f.OK {
			state, text = "ok", f.Detail
		}
		rows = append(rows, []string{f.Name, state, text})
	}
	writeTable(g.out, rows, widest)
	rows = [][]string{{"FOLDER", "STATE", ""}}
	for _, f := range d.Folders {
		rows = append(rows, []string{f.Name, f.State, f.Path})
	}
	g.printSection(rows)
	rows = [][]string{{"PLUGIN", "SANDBOX", "NETWORK", ""}}
	missing := map[string]string{} // where each text about missing protection is shown
	for _, p := range d.Plugins {
		rows = append(rows, p.row(p.Name, missing))
	}
	for _, p := range d.Discovery {
		rows = append(rows, p.row("discovery "+p.Name, missing))
	}
	g.printSection(rows)
	rows = [][]string{{"MCP SERVER", "RUNS", "STATE", ""}}
	for _, f := range d.Servers {
		rows = append(rows, f.row())
	}
	g.printSection(rows)
	for _, p := range d.Problems {
		fmt.Fprintf(g.out, "\n%s\n", indentRest(replaceForTerminal(p)))
	}
}

// printSection prints a table below others, if it has more than its header.
func (g *options) printSection(rows [][]string) {
	if len(rows) > 1 {
		fmt.Fprintln(g.out)
		writeTable(g.out, rows, widest)
	}
}

func readOnlyWords(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	short := make([]string, len(paths))
	for i, path := range paths {
		short[i] = fsutil.Shortened(path)
	}
	return "cannot change " + strings.Join(short, ", ")
}

// row is the plugin's line of the table. What it lacks is shown for the first plugin that lacks the same; shown has the
// names of those.
func (p pluginFinding) row(name string, shown map[string]string) []string {
	network := "yes"
	if !p.Network {
		network = "no"
	}
	missing := strings.Join(p.Missing, "; ")
	if first := shown[missing]; p.Refused == "" && first != "" {
		missing = "the same as " + first
	} else if p.Refused == "" && missing != "" {
		shown[missing] = name
	}
	return []string{name, sandboxWords(&p.Confinement), network, cmp.Or(p.Refused, missing, readOnlyWords(p.ReadOnly))}
}

// sandboxWords is a level in a table: the requested one and the effective one, if that is lower.
func sandboxWords(c *sandbox.Confinement) string {
	switch {
	case c == nil:
		return "-"
	case c.Requested != c.Effective:
		return fmt.Sprintf("%s→%s", c.Requested, c.Effective)
	case c.Wrapper != "":
		return fmt.Sprintf("%s (%s)", c.Effective, c.Wrapper)
	}
	return string(c.Effective)
}

// A finding is one feature that a machine has, or lacks.
type finding struct {
	Name        string `json:"name"`
	OK          bool   `json:"ok"`
	Detail      string `json:"detail,omitempty"`
	Consequence string `json:"consequence,omitempty"` // of a missing feature
	Remedy      string `json:"remedy,omitempty"`
}

// examine lists the sandbox features of the machine.
func examine(m proctree.Capabilities, bubblewrap string) []finding {
	if !m.Sandbox {
		return []finding{{Name: "sandbox", Remedy: "run toolhost on Linux",
			Consequence: fmt.Sprintf("the sandbox levels confined and isolated are not available on %s: plugins can do what "+
				"their user can", runtime.GOOS)}}
	}
	return []finding{
		checked(finding{Name: "no_new_privs", Detail: "plugins gain no privileges", Consequence: "no sandbox level holds",
			Remedy: "use Linux 3.5 or newer"}, m.NoNewPrivs),
		examineLandlock(m.Landlock),
		checked(finding{Name: "seccomp", Detail: "system calls can be filtered",
			Consequence: "no plugin is confined: they can lease files and make setuid ones, and isolated ones reach the " +
				"network, services on Unix sockets, and the kernel's rare calls",
			Remedy: "use a kernel with CONFIG_SECCOMP_FILTER on amd64 or arm64, or let the container's own filter allow " +
				"seccomp"}, m.Seccomp),
		checked(finding{Name: "namespaces", Detail: "plugins can have process namespaces of their own",
			Consequence: "no plugin is confined: they see other processes and reach their shared memory, and what one hides " +
				"from its launcher outlives a launcher that is killed (" + m.NamespacesError + ")",
			Remedy: "allow them, to users other than root with user namespaces (sysctl user.max_*_namespaces, " +
				"kernel.apparmor_restrict_unprivileged_userns=0)"}, m.Namespaces),
		checked(finding{Name: "mounts", Detail: "files can be read-only for a plugin",
			Consequence: "no plugin is confined: they can change .git and its like in the work folder, and modes, owners and " +
				"times of their user's files",
			Remedy: "allow namespaces, and use Linux 5.12 or newer; a container must allow mount_setattr, open_tree and " +
				"move_mount"}, m.ReadOnlyMounts()),
		checked(finding{Name: "bubblewrap", Detail: bubblewrap,
			Consequence: "bwrap cannot be a plugin's wrapper, which only those need that ask for it",
			Remedy:      "install the package bubblewrap"}, bubblewrap != ""),
	}
}

func checked(f finding, ok bool) finding {
	if f.OK = ok; ok {
		f.Consequence, f.Remedy = "", ""
	} else {
		f.Detail = ""
	}
	return f
}

// examineLandlock: version 6 introduced the last feature that toolhost uses.
func examineLandlock(abi int) finding {
	f := finding{Name: "landlock", Detail: fmt.Sprintf("version %d", abi), Remedy: "use Linux 6.12 or newer"}
	switch {
	case abi == 0:
		f.Consequence = "no plugin is confined: they can write to devices and terminals, without mounts wherever their " +
			"user can, and isolated ones read all"
		f.Remedy = "use Linux 6.12 or newer with landlock among its security modules (kernel option lsm=landlock,…), or " +
			"let the container's filter allow it"
	case abi < 2:
		f.Consequence = fmt.Sprintf("version %d: plugins reach abstract sockets of other programs, and cannot move files "+
			"from one folder to another", abi)
	case abi < 6:
		f.Consequence = fmt.Sprintf("version %d: plugins reach abstract sockets of other programs", abi)
	}
	return checked(f, abi >= 6)
}

// A folderFinding is a place where toolhost reads or writes.
type folderFinding struct {
	Name  string `json:"name"`
	Path  string `json:"path,omitempty"`
	State string `json:"state"`
}

// configuration is the one in use; c is nil when that is invalid, or missing.
func (g *options) configuration(c *bootstrap.Configuration) folderFinding {
	f := folderFinding{Name: "configuration", State: "none"}
	switch path, err := bootstrap.ConfigPath(g.bootstrapOptions()); {
	case c != nil && c.Path == "":
		f.State = "none: plugins that are installed are used"
	case c != nil && c.Trusted():
		f.Path, f.State = c.Path, "trusted"
	case c != nil:
		f.Path, f.State = c.Path, "not trusted: nothing of it is started"
	case err == nil:
		f.Path, f.State = path, "cannot be used: see below"
		if abs, err := filepath.Abs(path); err == nil {
			f.Path = abs
		}
	}
	return f
}

// folders are those in use; c is nil when there is no valid configuration.
func (g *options) folders(c *bootstrap.Configuration) []folderFinding {
	out := []folderFinding{g.configuration(c)}
	own := func(dir func() (string, error)) func() (string, error) {
		return func() (string, error) {
			path, err := dir()
			return filepath.Join(path, "toolhost"), err
		}
	}
	for _, f := range []struct {
		name string
		dir  func() (string, error)
	}{{"user's configuration", own(os.UserConfigDir)}, {"installed plugins", bootstrap.PluginFolder},
		{"cache", own(os.UserCacheDir)}} {
		dir, err := f.dir()
		if err != nil {
			out = append(out, folderFinding{f.name, "", "not known: " + err.Error()})
			continue
		}
		out = append(out, folderFinding{f.name, dir, writable(dir)})
	}
	run := supervise.Options{}.SocketDir()
	out = append(out, folderFinding{"plugins' sockets", run, writable(run)})
	switch {
	case c == nil:
		return append(out, folderFinding{"record", "", "not known: the configuration cannot be used"})
	case c.Audit == nil:
		return append(out, folderFinding{"record", "", "off: the configuration has no audit block"})
	}
	path, err := bootstrap.AuditPath(c.Audit.Path, c.Dir)
	if err != nil {
		return append(out, folderFinding{"record", "", "not known: " + err.Error()})
	}
	state := "writable"
	if err := probeRecord(path); err != nil {
		state = "cannot be written: " + err.Error()
	} else if _, err := os.Stat(path); err != nil {
		state = "made when needed"
	}
	return append(out, folderFinding{"record", path, state})
}

// probeRecord tries whether the record at a path can be written, or made. It changes nothing that is there.
func probeRecord(path string) error {
	if err := audit.CheckPlace(path); err != nil {
		return err
	}
	for _, file := range audit.Files(path) {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return err
		}
		_ = f.Close()
	}
	return probeSpace(nearest(path))
}

// probeSpace tries whether a file can be written in a folder.
func probeSpace(dir string) error {
	f, err := os.CreateTemp(dir, ".toolhost-doctor-")
	if err == nil {
		_, err = f.Write(make([]byte, os.Getpagesize()))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if failed, is := errors.AsType[*fs.PathError](err); is { // the name is not worth a word
		return &fs.PathError{Op: failed.Op, Path: dir, Err: failed.Err}
	}
	return err
}

// writable describes in a word what can be done with a folder. A missing one is made when it is needed.
func writable(dir string) string {
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		if above := nearest(dir); !mayWrite(above) {
			return "not there, and cannot be made"
		}
		return "made when needed"
	case err != nil:
		return "cannot be looked at"
	case !info.IsDir():
		return "no folder"
	case !mayWrite(dir):
		return "not writable"
	}
	err = probeSpace(dir)
	if failed, is := errors.AsType[*fs.PathError](err); is {
		return "not writable: " + failed.Err.Error()
	}
	return "writable"
}

// nearest is the nearest existing folder above.
func nearest(dir string) string {
	for dir = filepath.Dir(dir); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	return dir
}
