// Package pluginnew writes the repository of a new plugin: a tool, its tests, a Makefile, a CI workflow and a README.
// It runs no program and uses no network.
package pluginnew

import (
	"bufio"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk/node"
	"github.com/toolhost/toolhost/sdk/python"
)

// Languages are those of Options.Lang.
var Languages = []string{"go", "node", "python"}

// Options say what to write.
type Options struct {
	Name   string   // of the plugin
	Lang   string   // one of Languages
	Dir    string   // the folder to write to; "" is the plugin's name
	Module string   // the path of the Go module; "" is one of example.com
	SDK    SDK      // where the Go module gets the sdk from, and CI the host
	Taken  []string // names that other plugins have
}

// A Repository is what Create has written.
type Repository struct {
	Dir   string
	Files int
}

// A file of a template has @name@ and the like in place of what differs, and dot- in place of a leading dot.
//
//go:embed templates
var templates embed.FS

// Create writes the repository to a folder that is not there, or that is empty except for .git. After an error nothing
// is left.
func Create(o Options) (r Repository, err error) {
	if err := o.Check(); err != nil {
		return r, err
	}
	r.Dir = cmp.Or(o.Dir, o.Name)
	if err := checkEmpty(r.Dir); err != nil {
		return r, err
	}
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return r, err
	}
	values, err := o.values(dir)
	if err != nil {
		return r, err
	}
	files := map[string][]byte{}
	for _, t := range []string{"all", o.Lang} {
		if err := render(files, t, values); err != nil {
			return r, err
		}
	}
	switch o.Lang {
	case "node":
		err = addKit(files, "vendor/toolhost", node.Kit)
	case "python":
		err = addKit(files, "toolhost", python.Kit)
	}
	if err != nil {
		return r, err
	}
	r.Files = len(files)
	if err := write(dir, files); err != nil {
		return r, notWritten(r.Dir, err)
	}
	return r, nil
}

func notWritten(dir string, err error) error {
	err = fsutil.FolderError(err, filepath.Dir(dir), "name another one with --dir")
	return fmt.Errorf("%s cannot be written: %w", dir, err)
}

// module has at least one path element; each begins and ends with a letter or digit.
var module = lazy.Regexp(`^[A-Za-z0-9]([A-Za-z0-9._~-]*[A-Za-z0-9])?(/` +
	`[A-Za-z0-9]([A-Za-z0-9._~-]*[A-Za-z0-9])?)*$`)

// Check returns what is wrong with all options but SDK.
func (o Options) Check() error {
	switch {
	case !toolname.IsPlugin(o.Name):
		text := fmt.Sprintf("%.60q is not a plugin name: %s", o.Name, toolname.PluginRule)
		if fit := toolname.PluginOf(o.Name); fit != "" {
			text += fmt.Sprintf("; %s is one", fit)
		}
		return errors.New(text)
	case strings.HasPrefix(o.Name, toolname.ProgramPrefix):
		return fmt.Errorf("%s is the name of a program; that of its plugin is %s", o.Name,
			cmp.Or(toolname.PluginOf(o.Name), "what comes after "+toolname.ProgramPrefix))
	case slices.Contains(o.Taken, o.Name):
		return fmt.Errorf("%s is the name of a plugin that ships with toolhost; my-%[1]s is not", o.Name)
	case !slices.Contains(Languages, o.Lang):
		return fmt.Errorf("%q is none of the languages %s", o.Lang, strings.Join(Languages, ", "))
	case o.Module != "" && o.Lang != "go":
		return errors.New("--module is the path of a Go module; it goes with --lang go only")
	case o.Module != "" && !module().MatchString(o.Module):
		return fmt.Errorf("%.80q is not the path of a Go module, such as example.com/toolhost-plugin-%s", o.Module, o.Name)
	}
	return nil
}

// values are the replacements for the placeholders of the templates.
func (o Options) values(dir string) (*strings.Replacer, error) {
	replace, err := o.SDK.replace(dir)
	if err != nil {
		return nil, err
	}
	return strings.NewReplacer(
		"@name@", o.Name,
		"@module@", cmp.Or(o.Module, "example.com/"+toolname.ProgramPrefix+o.Name),
		"@version@", cmp.Or(o.SDK.Version, unreleased),
		"@replace@", replace,
		"@latest@", cmp.Or(o.SDK.Version, "latest"),
	), nil
}

func render(files map[string][]byte, template string, values *strings.Replacer) error {
	root := "templates/" + template
	return fs.WalkDir(templates, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templates.ReadFile(name)
		if err != nil {
			return err
		}
		var to []string
		for element := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(name, root+"/"), ".tmpl"), "/") {
			if rest, hidden := strings.CutPrefix(element, "dot-"); hidden {
				element = "." + rest
			}
			to = append(to, element)
		}
		files[path.Join(to...)] = []byte(values.Replace(string(text)))
		return nil
	})
}

// addKit adds the files of a kit for another language.
func addKit(files map[string][]byte, to string, kit fs.FS) error {
	return fs.WalkDir(kit, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path.Join(to, path.Base(name))], err = fs.ReadFile(kit, name)
		return err
	})
}

// checkEmpty refuses a folder that has anything but .git.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	info, there := os.Lstat(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrPermission) && there == nil && !info.IsDir(): // a file, or a link to none
		return fmt.Errorf("%s is not a folder; nothing was written. Fix: name a new folder with --dir", dir)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return notWritten(dir, err)
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			return fmt.Errorf("%s is not empty: it has %s; nothing was written. Fix: name a new folder with --dir", dir,
				e.Name())
		}
	}
	return nil
}

// write writes all files or none: to a folder beside the place or, where that is there, in it.
func write(dir string, files map[string][]byte) (err error) {
	_, statErr := os.Stat(dir)
	there := statErr == nil
	beside := filepath.Dir(dir)
	if there {
		beside = dir
	} else if err := os.MkdirAll(beside, 0o755); err != nil {
		return err
	}
	staged, err := os.MkdirTemp(beside, ".new-plugin-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staged)) }()
	root := filepath.Join(staged, "plugin") // unlike the temporary folder it gets the usual permissions
	for name, text := range files {
		to := filepath.Join(root, filepath.FromSlash(name))
		mode := os.FileMode(0o644)
		if strings.HasPrefix(string(text), "#!") {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, mode)); err != nil {
			return err
		}
	}
	if !there {
		return os.Rename(root, dir)
	}
	return moveInto(dir, root)
}

// moveInto moves what is in a folder into another one, all of it or nothing.
func moveInto(dir, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			for _, moved := range entries[:i] {
				err = errors.Join(err, os.RemoveAll(filepath.Join(dir, moved.Name())))
			}
			return err
		}
	}
	return nil
}

// toolhost is the module that has the sdk.
const toolhost = "github.com/toolhost/toolhost"

// unreleased stands for a version in a go.mod that replaces the module by a folder.
const unreleased = "v0.0.0"

// An SDK is where a Go module gets the sdk from: a version that can be downloaded, or else a folder with the sources.
type SDK struct {
	Version string
	Dir     string
}

// errNoSDK means that this program is no release, and that the sources that it was built from are not known.
var errNoSDK = errors.New("this toolhost is not a release, so the new go.mod must name its source code, which is not " +
	"beside this program. Fix: add --sdk DIR, with DIR a checkout of " + toolhost)

// FindSDK returns the sdk that fits this program: of the named folder if there is one; of the released version, such
// as v0.1.0, unless that is ""; otherwise of the sources in or above the folder of the program, if no other user can
// change them.
func FindSDK(named, released, program string) (SDK, error) {
	switch {
	case named != "" && !isSource(named):
		return SDK{}, fmt.Errorf("--sdk %s is not a folder with the module %s: it has no go.mod that says so", named,
			toolhost)
	case named != "":
		return SDK{Dir: named}, nil
	case released != "":
		return SDK{Version: released}, nil
	}
	beside := filepath.Dir(fsutil.Resolved(program))
	for _, dir := range []string{beside, filepath.Dir(beside)} { // make build puts it into bin
		if isSource(dir) && fsutil.CheckOwnership(filepath.Join(dir, "go.mod")) == nil {
			return SDK{Dir: dir}, nil
		}
	}
	return SDK{}, errNoSDK
}

// isSource reports whether a folder has the sources of the module.
func isSource(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "module" {
			return strings.Trim(words[1], `"`) == toolhost
		}
	}
	return false
}

// replace is what a go.mod in a folder says of the sources; "" for a version that can be downloaded.
func (s SDK) replace(dir string) (string, error) {
	if s.Dir == "" {
		return "", nil
	}
	source, err := filepath.Abs(s.Dir)
	if err != nil {
		return "", err
	}
	to, err := filepath.Rel(fsutil.Resolved(dir), fsutil.Resolved(source))
	if err != nil { // on another drive
		to = source
	}
	if to = filepath.ToSlash(to); !strings.HasPrefix(to, ".") && !filepath.IsAbs(to) {
		to = "./" + to
	}
	if strings.ContainsAny(to, " \t\"'`()") {
		to = fmt.Sprintf("%q", to)
	}
	return "\n// The toolhost that wrote this is not a release: the sdk comes from its source code.\n" +
		"// Before others use this module, remove these lines and run: go get " + toolhost + "@latest\n" +
		"replace " + toolhost + " => " + to + "\n", nil
}
