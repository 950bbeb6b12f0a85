package host

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agext/levenshtein"

	"github.com/toolhost/toolhost/sdk"
)

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
