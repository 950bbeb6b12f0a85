package host

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agext/levenshtein"

	"github.com/toolhost/toolhost/host/internal/lazy"
	"github.com/toolhost/toolhost/sdk"
)

// aliasName is what every model vendor takes for a name.
var aliasName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// aliases gives the tools by their other names. Two tools cannot have one, also in other letters, and none can be the name that
// a tool of a plugin may have.
func aliases(plugins map[string]Plugin, tools map[string]ToolOptions) (map[string]string, error) {
	out, owners := map[string]string{}, map[string]string{}
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		for _, alias := range tools[tool].Aliases {
			plugin, _, full := strings.Cut(strings.ToLower(alias), "__")
			_, known := plugins[plugin]
			owner, taken := owners[strings.ToLower(alias)]
			switch {
			case !aliasName().MatchString(alias):
				return nil, fmt.Errorf("host: the alias %.80q of %s must match %s", alias, tool, aliasName())
			case full && known:
				return nil, fmt.Errorf("host: the alias %q of %s is the name that a tool of plugin %q may have; give %s another one", alias, tool, plugin, tool)
			case taken && owner != tool:
				return nil, fmt.Errorf("host: %s and %s have the alias %q both; only one of them can be called so", owner, tool, alias)
			}
			out[alias], owners[strings.ToLower(alias)] = tool, tool
		}
	}
	return out, nil
}

// meant gives the full name of the tool that is called so.
func (h *snapshot) meant(name string) string {
	if tool, is := h.aliases[name]; is {
		return tool
	}
	return name
}

// foreign are the tools of other agents that do what one of ours does. Models that were trained with those call them by
// name; they are suggestions, and nothing is run by such a name unless it is an alias.
var foreign = foreignNames(map[string]string{
	"readfile__read": "read_file read_many_files view_file open_file view cat read",
	"readfile__list": "list_directory list_dir list_files ls read_dir view_subdirectory",
	"readfile__glob": "glob find_files file_glob_search file_search glob_file_search find_by_name find_path",
	"readfile__grep": "grep_search search_file_content search_files grep ripgrep rg search codebase_search search_code find_in_files search_text",
	"edit__replace":  "replace edit edit_file str_replace str_replace_editor str_replace_based_edit_tool search_replace find_and_replace single_find_and_replace edit_existing_file replace_in_file apply_diff replace_file_content",
	"edit__multi":    "multi_edit apply_patch multi_replace_file_content",
	"edit__write":    "write_file write create_file create_new_file write_to_file save_file new_file",
	"edit__undo":     "undo_edit revert_edit",
	"shell__exec":    "run_shell_command run_terminal_command run_terminal_cmd bash execute_command exec_command run_command run_in_terminal shell local_shell terminal sh execute_bash",
	"shell__script":  "execute_code run_code python code_interpreter",
	"shell__job":     "bash_output kill_bash kill_shell list_background_processes read_background_output get_terminal_output",
	"http__get":      "web_fetch fetch fetch_url fetch_url_content read_url_content http_request url_fetch fetch_webpage",
})

func foreignNames(byTool map[string]string) map[string]string {
	out := map[string]string{}
	for tool, names := range byTool {
		for name := range strings.FieldsSeq(names) {
			out[plainLetters(name)] = tool
		}
	}
	return out
}

// plainLetters is a name without what only its writing adds: run_terminal_command, RunTerminalCommand.
func plainLetters(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// sameUse are the tools of a catalog that do what the tool of another agent does, by that one's name: the plugin of ours may
// have any label.
func sameUse(name string, tools []*Tool) (out []string) {
	full := foreign[plainLetters(name)]
	_, own, _ := strings.Cut(full, "__")
	for _, t := range tools {
		if full != "" && (t.Name == full || t.said.Name == own && t.Category == category(full)) {
			out = append(out, t.Name)
		}
	}
	return out[:min(3, len(out))]
}

// category is that of a tool of ours.
func category(full string) string {
	plugin, _, _ := strings.Cut(full, "__")
	return map[string]string{"readfile": "files", "edit": "edit", "shell": "shell", "http": "web"}[plugin]
}

// notFound says that there is no such tool.
func (r *registry) notFound(ctx context.Context, c *Call, own known) error {
	e := fail(sdk.CodeToolNotFound, "ToolNotFound", "there is no tool %.100q", c.Tool)
	for _, p := range own.problems {
		if concerns(p, c.Tool) && c.catalog.allowsName(c.Tool) {
			e.Message += "; " + p.Error()
		}
	}
	e.Suggestion = r.suggest(ctx, c, own, "Call a tool by its full name, PLUGIN__TOOL, as it is listed.")
	return e
}

// notInCatalog says that the tool is not for this caller. That it exists is no secret: whoever may not know of a tool
// must not share a host with those who may.
func (r *registry) notInCatalog(ctx context.Context, c *Call, own known) error {
	e := fail(sdk.CodeNotInCatalog, "NotInCatalog", "the tool %.100q is not in this catalog; nothing was run", c.Tool)
	e.Suggestion = r.suggest(ctx, c, own, "Call only tools that are listed here, and do not try this one again.")
	return e
}

// suggest names up to three tools of the catalog that may have been meant: those of the plugin if it has any there, else
// any with a near name. None of them is run.
func (r *registry) suggest(ctx context.Context, c *Call, own known, otherwise string) string {
	if near := r.near(ctx, c, own); len(near) > 0 {
		return "Did you mean " + strings.Join(near, ", ") + "?"
	}
	return otherwise
}

func (r *registry) near(ctx context.Context, c *Call, own known) []string {
	if len(c.Tool) > 2*maxName {
		return nil
	}
	if tools, _ := c.catalog.pick(own); len(tools) > 0 {
		return nearest(c.Tool, tools, len(c.Tool)+maxName)
	}
	tools := r.suggestable(ctx, c.catalog)
	same := sameUse(c.Tool, tools)
	for _, name := range nearest(c.Tool, tools, min(max(2, len(c.Tool)/3), len(c.Tool)-1)) {
		if !slices.Contains(same, name) {
			same = append(same, name)
		}
	}
	return same[:min(3, len(same))]
}

// maxSuggesting bounds how long plugins are asked only to suggest a name.
const maxSuggesting = 5 * time.Second

func (r *registry) suggestable(ctx context.Context, c *Catalog) []*Tool {
	ctx, cancel := context.WithTimeout(ctx, maxSuggesting)
	defer cancel()
	tools, _, _ := r.all(ctx, c)
	return tools
}

// nearest gives up to three names that are at most so many edits away, the nearest first.
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

// distance counts the edits from what was said to the tool's full name, its own, or that of its plugin.
func distance(name string, t *Tool) int {
	name = strings.ToLower(name)
	return min(levenshtein.Distance(name, strings.ToLower(t.Name), nil), levenshtein.Distance(name, strings.ToLower(t.said.Name), nil),
		levenshtein.Distance(name, t.Plugin, nil))
}
