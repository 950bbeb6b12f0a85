package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agext/levenshtein"

	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/sdk"
)

// lookup finds the tool of a call by its exact full name, if the call's catalog has it.
func (h *snapshot) lookup(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if e := c.check(); e != nil {
			return nil, e
		}
		f := c.failedLookup
		c.failedLookup = failedLookup{} // it may succeed when a middleware tries again
		if f.by == h && f.tool == c.Tool {
			return nil, f.err
		}
		tool, err := h.registry.find(ctx, c)
		if err != nil {
			return nil, err
		}
		c.Definition = tool
		return next(ctx, c)
	}
}

// Limits of the names in a call, in bytes. The wire has the same.
const (
	maxCallName = 256
	maxWorkdir  = 4096
)

// check refuses overlong names, which would be kept, logged and sent, and a timeout that no call can keep.
func (c *Call) check() *sdk.Error {
	for _, n := range []struct {
		what, name string
		most       int
	}{{"call id", c.ID, maxCallName}, {"session id", c.SessionID, maxCallName}, {"caller", c.Caller, maxCallName},
		{"work folder", c.Workdir, maxWorkdir}} {
		if len(n.name) > n.most {
			return fail(sdk.CodeInvalidArgs, "NameTooLong", "the %s has %d bytes, at most %d are allowed; nothing was run",
				n.what, len(n.name), n.most)
		}
	}
	if c.Timeout < 0 {
		return fail(sdk.CodeInvalidArgs, "BadTimeout", "the timeout %s of the call is below zero; nothing was run", c.Timeout)
	}
	return nil
}

func (r *registry) find(ctx context.Context, c *Call) (*Tool, error) {
	plugin, _, _ := strings.Cut(c.Tool, "__")
	l := r.plugins[plugin]
	if l == nil {
		return nil, r.notFound(ctx, c, toolList{})
	}
	own, err := r.toolsFor(ctx, c, l)
	if err != nil {
		return nil, err
	}
	if c.catalog.allowsName(c.Tool) {
		if own, err = r.await(ctx, c, l, own, func(list toolList) bool { return list.has(c.Tool) }); err != nil {
			return nil, err
		}
	}
	t := own.tools[c.Tool]
	switch {
	case t == nil:
		for _, p := range own.problems {
			out, ok := errors.AsType[*toolProblem](p)
			if ok && out.refusal != nil && out.name == c.Tool && c.catalog.allowsName(c.Tool) {
				return nil, new(*out.refusal)
			}
		}
		return nil, r.notFound(ctx, c, own)
	case !c.catalog.allows(t):
		return nil, r.notInCatalog(ctx, c, own)
	case r.singleCall && t.Stateful:
		return nil, advise(fail(sdk.CodeNotInCatalog, "NeedsLastingHost",
			"%s works with what earlier calls left in its plugin's process, and this host ends after one call; nothing was run",
			t.Name), "Reach the goal another way. Only a host that serves many calls, such as an agent's, has this tool.")
	}
	return t, nil
}

// toolsFor lists the plugin if necessary, within the caller's timeout, if there is one. It does not list the plugin
// for a name that the catalog refuses for any tool.
func (r *registry) toolsFor(ctx context.Context, c *Call, l *listing) (own toolList, err error) {
	own = l.load()
	switch {
	case own.tools != nil:
		return own, nil
	case !c.catalog.allowsName(c.Tool):
		return toolList{}, r.notInCatalog(ctx, c, toolList{})
	}
	ctx, starting := c.enterStart(ctx, l.name)
	defer func() { starting.end(asError(err), 0) }()
	return r.listFor(ctx, c, l)
}

// listFor lists the plugin within the caller's timeout.
func (r *registry) listFor(ctx context.Context, c *Call, l *listing) (toolList, error) {
	limited, cancel := context.WithTimeout(ctx, firstPositive(c.Timeout, r.timeout))
	defer cancel()
	slow := time.AfterFunc(slowListing, func() { c.reportProgress(fmt.Sprintf("plugin %q is starting", l.name)) })
	defer slow.Stop()
	return l.list(limited)
}

// slowListing is how long a plugin may take to list its tools until the caller learns what it waits for.
const slowListing = 2 * time.Second

// await lists the plugin again when the tool that is wanted is not in its list but may come: it waits for tools that
// the plugin expects soon, within the caller's timeout. The error says why the plugin has not all of its tools.
func (r *registry) await(ctx context.Context, c *Call, l *listing, own toolList, wanted func(toolList) bool) (toolList,
	error) {
	late, able := l.plugin.(Awaiter)
	if !able || wanted(own) {
		return own, nil
	}
	limited, cancel := context.WithTimeout(ctx, firstPositive(c.Timeout, r.timeout))
	defer cancel()
	err := late.AwaitTools(limited, func(why string) {
		c.reportProgress(fmt.Sprintf("waiting for plugin %q: %s", l.name, why))
	})
	if l.dropOld(limited) {
		now, listErr := l.list(limited)
		if listErr == nil && wanted(now) {
			return now, nil
		}
		if err == nil {
			return now, listErr
		}
	}
	if why, coded := errors.AsType[*sdk.Error](err); coded && ctx.Err() != nil {
		e := sdk.EndedError(ctx)
		e.Message += ": " + why.Message
		return own, e
	}
	return own, err
}

const longestWait = time.Minute // how long AwaitTools waits: as long as plugins/mcp lets a server start

// AwaitTools waits for the tools that plugins which are listed expect soon, such as those of servers that are still
// starting, until ctx ends, a minute at most. It calls waiting, from several goroutines, for each plugin that it waits
// for. It reports whether tools are to be listed again: plugins have others than those that were listed.
func (h *Host) AwaitTools(ctx context.Context, waiting func(plugin, why string)) bool {
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	var changed atomic.Bool
	var plugins sync.WaitGroup
	for name, l := range h.current.Load().registry.plugins {
		late, able := l.plugin.(Awaiter)
		if !able || l.load().tools == nil {
			continue
		}
		plugins.Go(func() {
			callback.Run(l.log(), "Awaiter.AwaitTools", func() { // the error is what the plugin's status says
				_ = late.AwaitTools(ctx, func(why string) { waiting(name, why) })
			})
			if l.dropOld(ctx) {
				changed.Store(true)
			}
		})
	}
	plugins.Wait()
	return changed.Load()
}

// has reports whether the plugin has a tool, or had to leave it out.
func (l toolList) has(tool string) bool {
	return l.tools[tool] != nil || slices.ContainsFunc(l.problems, func(p error) bool { return concerns(p, tool) })
}

func (c *Call) reportProgress(text string) {
	c.forward(sdk.Event{Type: sdk.EventProgress, Message: text})
}

func (r *registry) notFound(ctx context.Context, c *Call, own toolList) error {
	e := fail(sdk.CodeToolNotFound, "ToolNotFound", "there is no tool %.100q", c.Tool)
	for _, p := range own.problems {
		if concerns(p, c.Tool) && c.catalog.allowsName(c.Tool) {
			e.Message += "; " + p.Error()
		}
	}
	return advise(e, r.suggest(ctx, c, own, "Call a tool by its full name, PLUGIN__TOOL, as it is listed."))
}

// notInCatalog reveals that the tool exists: callers that must not know it need a host of their own.
func (r *registry) notInCatalog(ctx context.Context, c *Call, own toolList) error {
	return advise(fail(sdk.CodeNotInCatalog, "NotInCatalog", "the tool %.100q is not in this catalog; nothing was run",
		c.Tool), r.suggest(ctx, c, own, "Call only tools that are listed here, and do not try this one again."))
}

// maxSuggesting bounds the time for listing plugins only to suggest a name.
const maxSuggesting = 5 * time.Second

// suggest names up to three similar tools of the catalog: those of the same plugin if it has any there, otherwise
// tools with the same use or a similar name. None of them is run.
func (r *registry) suggest(ctx context.Context, c *Call, own toolList, otherwise string) string {
	if len(c.Tool) > 2*maxName {
		return otherwise
	}
	var near []string
	if tools, _ := c.catalog.pick(own); len(tools) > 0 {
		near = nearest(c.Tool, tools, len(c.Tool)+maxName)
	} else {
		limited, cancel := context.WithTimeout(ctx, maxSuggesting)
		defer cancel()
		tools, _, _ := r.all(limited, c.catalog)
		near = Similar(c.Tool, tools)
	}
	if len(near) == 0 {
		return otherwise
	}
	return "Did you mean " + strings.Join(near, ", ") + "?"
}

// Similar returns the full names of up to three of the tools, which are a host's, with the same use as name or a
// similar name; none for a name that is far too long.
func Similar(name string, tools []*Tool) []string {
	if len(name) > 2*maxName {
		return nil
	}
	asked := withoutServer(name)
	near := sameUse(asked, tools)
	for _, name := range nearest(asked, tools, min(max(2, len(asked)/3), len(asked)-1)) {
		if !slices.Contains(near, name) {
			near = append(near, name)
		}
	}
	return near[:min(3, len(near))]
}

// withoutServer is the name of a tool without mcp__SERVER__, which MCP clients put before it, and without a namespace
// such as functions, which models write before a full name, with a dot.
func withoutServer(name string) string {
	if own := name[strings.LastIndexByte(name, '.')+1:]; strings.Contains(own, "__") {
		name = own
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		if _, tool, _ := strings.Cut(rest, "__"); tool != "" {
			return tool
		}
	}
	return name
}

// nearest returns up to three names within that many edits, the nearest first.
func nearest(name string, tools []*Tool, most int) []string {
	distances := map[string]int{}
	for _, t := range tools {
		if d := distance(name, t); d <= most {
			distances[t.Name] = d
		}
	}
	near := slices.SortedFunc(maps.Keys(distances), func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), strings.Compare(a, b))
	})
	return near[:min(3, len(near))]
}

// distance is the smallest edit distance to the tool's full name, its own name, its name at the source, alone or
// after the plugin's, or the name of its plugin.
func distance(name string, t *Tool) int {
	name = strings.ToLower(name)
	names := []string{t.Name, t.declared.Name, t.Plugin}
	if source := t.declared.OriginalName; source != "" && len(source) <= 4*maxName {
		names = append(names, source, t.Plugin+"__"+source)
	}
	least := len(name) + maxName
	for _, other := range names {
		least = min(least, levenshtein.Distance(name, strings.ToLower(other), nil))
	}
	return least
}

// aliasPattern matches names that every model vendor accepts.
var aliasPattern = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// newAliases returns the tools by alias. Two tools cannot share an alias, ignoring case, and an alias cannot be a
// possible name of a plugin's tool.
func newAliases(plugins map[string]Plugin, tools map[string]ToolOptions) (map[string]string, error) {
	out, owners := map[string]string{}, map[string]string{}
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		for _, alias := range tools[tool].Aliases {
			plugin, _, full := strings.Cut(strings.ToLower(alias), "__")
			_, known := plugins[plugin]
			owner, taken := owners[strings.ToLower(alias)]
			switch {
			case !aliasPattern().MatchString(alias):
				return nil, fmt.Errorf("host: the alias %.80q of %s must match %s", alias, tool, aliasPattern())
			case full && known:
				return nil, fmt.Errorf("host: the alias %q of %s is the name that a tool of plugin %q may have; give %s another "+
					"one", alias, tool, plugin, tool)
			case taken && owner != tool:
				return nil, fmt.Errorf("host: %s and %s have the alias %q both; only one of them can be called so", owner, tool,
					alias)
			}
			out[alias], owners[strings.ToLower(alias)] = tool, tool
		}
	}
	return out, nil
}

// otherNames maps names of our tools to the names of other agents' tools with the same use. Models trained with those
// agents call them by name. Ours are suggested; such a name runs a tool only if it is an alias.
var otherNames = map[string]string{
	"readfile__read": "read_file read_many_files view_file open_file view cat read",
	"readfile__list": "list_directory list_dir list_files ls read_dir view_subdirectory",
	"readfile__glob": "glob find_files file_glob_search file_search glob_file_search find_by_name find_path",
	"readfile__grep": "grep_search search_file_content search_files grep ripgrep rg search codebase_search search_code " +
		"find_in_files search_text",
	"edit__replace": "replace edit edit_file str_replace str_replace_editor str_replace_based_edit_tool search_replace " +
		"find_and_replace single_find_and_replace edit_existing_file replace_in_file apply_diff replace_file_content",
	"edit__multi": "multi_edit apply_patch multi_replace_file_content",
	"edit__write": "write_file write create_file create_new_file write_to_file save_file new_file",
	"edit__undo":  "undo_edit revert_edit",
	"shell__exec": "run_shell_command run_terminal_command run_terminal_cmd bash execute_command exec_command " +
		"run_command run_in_terminal shell local_shell terminal sh execute_bash",
	"shell__script": "execute_code run_code python code_interpreter",
	"shell__job": "bash_output kill_bash kill_shell list_background_processes read_background_output " +
		"get_terminal_output",
	"http__get": "web_fetch fetch fetch_url fetch_url_content read_url_content http_request url_fetch fetch_webpage",
}

// categories are the categories of our tools by plugin.
var categories = map[string]string{"readfile": "files", "edit": "edit", "shell": "shell", "http": "web"}

// sameUse returns up to three tools with the same use as another agent's tool of that name. The plugin's label does
// not matter.
func sameUse(name string, tools []*Tool) (out []string) {
	letters := func(name string) string { // run_terminal_command and RunTerminalCommand are the same name
		return strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(name))
	}
	for full, others := range otherNames {
		if !slices.ContainsFunc(strings.Fields(others), func(other string) bool { return letters(other) == letters(name) }) {
			continue
		}
		plugin, own, _ := strings.Cut(full, "__")
		for _, t := range tools {
			if t.Name == full || t.declared.Name == own && t.Category == categories[plugin] {
				out = append(out, t.Name)
			}
		}
	}
	return out[:min(3, len(out))]
}
