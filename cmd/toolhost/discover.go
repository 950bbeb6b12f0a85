package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/api/pluginstatus"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

type discoverFlags struct {
	format    string
	plugins   []string
	profile   string
	search    string
	searching bool // also with an empty search
	tokens    bool
	deferred  bool
	model     string
	refresh   bool
	offline   bool
	problems  bool
}

func newDiscover(g *options) *cobra.Command {
	var f discoverFlags
	cmd := &cobra.Command{
		Use:   "discover",
		Short: "List the tools of all plugins",
		Long: "List the tools of all plugins. Plugins are started to list them, unless their program and settings\n" +
			"are those of an earlier start; scripts, and plugins whose tools may change by themselves, are always\n" +
			"started, and tools that come late, such as those of an MCP server that is still starting, are waited\n" +
			"for, a minute at most. --refresh starts all; --offline starts nothing, and lists what is known from\n" +
			"earlier starts.\n" +
			"A plugin or a plugin source that cannot be used is reported on standard error, and so is what a plugin\n" +
			"itself needs to find its tools: an MCP server, or a discovery command. The exit code is 4 in these cases\n" +
			"only; everything else is still listed. Tools of an earlier start that the last one did not find\n" +
			"are listed with the reason, which stays until a start finds them. Other notices of plugins, such as\n" +
			"about tools that they had to leave out, are written to standard error too and do not change the\n" +
			"exit code.\n" +
			"With --format json --problems the reasons are beside the tools: {\"tools\": [...], \"problems\":\n" +
			"[{\"message\": \"...\"}]}.\n" +
			"\n" +
			"With --search only the ten tools that fit the words best are listed, the best first. --tokens\n" +
			"estimates what each definition costs in every prompt that offers it, and what offering only a\n" +
			"search tool instead would save.\n" +
			"\n" +
			"The other formats are what a vendor's API takes for its tools, and mcp is that of the Model\n" +
			"Context Protocol; gemini is also what Gemini CLI's discovery command has to print: the exit code\n" +
			"is 0 and the list is empty if no tool can be listed, since otherwise Gemini CLI would not start;\n" +
			"what belongs in its settings is written to standard error. text is part of a prompt, for models\n" +
			"that know no function calling. Tools that a format cannot express are left out, with a message.",
		Args: func(cmd *cobra.Command, args []string) error {
			f.searching = cmd.Flags().Changed("search")
			if err := f.check(); err != nil {
				return err
			}
			return noArguments(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return g.discover(cmd.Context(), f) },
	}
	chooseFormat(cmd, &f.format, "%s", discoverFormats()...)
	cmd.Flags().StringArrayVar(&f.plugins, "plugin", nil, "only this `plugin`; may be given again")
	g.profileFlag(cmd, &f.profile)
	cmd.Flags().StringVar(&f.search, "search", "", "only the tools that fit these `words` best")
	cmd.Flags().BoolVar(&f.tokens, "tokens", false, "show about how many tokens each definition costs in a prompt")
	cmd.Flags().BoolVar(&f.deferred, "deferred", false, "only what a prompt offers that defers all tools: the tool "+
		"that finds the others")
	cmd.Flags().StringVar(&f.model, "model", "", "with the descriptions that the configuration has for this `model`, such "+
		"as gemini-3-pro")
	cmd.Flags().BoolVar(&f.refresh, "refresh", false, "start every plugin to list it, and remember what it says")
	cmd.Flags().BoolVar(&f.offline, "offline", false, "start nothing; list what is known from earlier starts")
	cmd.Flags().BoolVar(&f.problems, "problems", false, "with --format json: an object with the tools, and the "+
		"reasons for exit code 4")
	complete(cmd, "plugin", g.completePlugins)
	complete(cmd, "search", cobra.NoFileCompletions)
	complete(cmd, "model", cobra.NoFileCompletions)
	return cmd
}

// discoverFormats are our own two, then those of others.
func discoverFormats() []string {
	out := []string{"table", "json"}
	for _, f := range modelapi.Formats() {
		out = append(out, string(f))
	}
	return out
}

func (f discoverFlags) check() error {
	switch {
	case f.tokens && f.format != "table":
		return errors.New("--tokens goes with --format table only")
	case f.problems && f.format != "json":
		return errors.New("--problems goes with --format json only; otherwise the reasons are on standard error")
	case f.deferred && f.searching:
		return errors.New("--deferred lists the search tool and --search what it finds; give one of them")
	case f.refresh && f.offline:
		return errors.New("--refresh starts every plugin and --offline none; give one of them")
	case f.searching && strings.TrimSpace(f.search) == "":
		return errors.New("--search needs words to look for, such as --search \"read a file\"")
	}
	return nil
}

func (g *options) discover(ctx context.Context, f discoverFlags) error {
	if f.plain() {
		if r := g.runningOr(ctx, f.profile); r != nil {
			defer r.close()
			return g.discoverOn(ctx, r, f)
		}
	}
	// The definitions of all tools are read and stay until the end: collecting garbage finds little.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	forGemini := f.format == string(modelapi.FormatGemini)
	o := g.bootstrapOptions()
	o.Plugins, o.Profile, o.Refresh, o.Offline = f.plugins, f.profile, f.refresh, f.offline
	if forGemini {
		o.SingleCall, o.DefaultDir = true, ""
	}
	s, err := g.open(ctx, o)
	switch {
	case err != nil && forGemini:
		return g.listNothing(ctx, err)
	case err != nil:
		return err
	}
	defer g.close(s)
	tools, problems := listTools(ctx, s, f)
	if !f.offline && g.awaitTools(ctx, s) { // also for Gemini CLI, which would be without them until its next start
		tools, problems = listTools(ctx, s, f)
	}
	var alone []*host.Tool
	if f.tokens && !f.searching && !f.deferred { // each listing starts again what does not start
		alone, _ = deferred(ctx, s, f)
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	problems = slices.Concat(s.Plugins().Problems, problems)
	messages, failed := notices(s, f.plugins...)
	g.printErrors(slices.Concat(problems, messages)...)
	g.reportNoConfiguration(s.Config().Path, !forGemini)
	g.printErrors(uncheckedNotices(tools)...)
	switch {
	case len(tools) > 0 || f.format != "table":
	case len(s.Processes())+len(s.Plugins().Problems) == 0:
		g.explainNoPlugins(s)
	case f.searching:
		fmt.Fprintf(g.err, "no tool fits %q\n", replaceForTerminal(f.search))
	default:
		fmt.Fprintln(g.err, "no tools")
	}
	problems = append(problems, failed...)
	if len(f.plugins)+len(problems) == 0 { // all tools are known
		g.printErrors(s.MisnamedArguments(ctx)...)
	}
	if err := g.printTools(tools, alone, problems, f); err != nil {
		return err
	}
	if forGemini && !f.searching && !f.offline {
		g.printGeminiSettings(s, f)
	}
	if len(problems) > 0 && !forGemini {
		return &exitError{code: exitUnavailable}
	}
	return nil // Gemini CLI does not start with a discovery command that fails; some tools are better than none
}

// uncheckedNotices name the plugins with tools whose schemas are not checked in all parts, with one such part each.
func uncheckedNotices(tools []*host.Tool) (out []error) {
	byPlugin := map[string][]*host.Tool{}
	for _, t := range tools {
		if len(t.Unchecked) > 0 {
			byPlugin[t.Plugin] = append(byPlugin[t.Plugin], t)
		}
	}
	for _, plugin := range slices.Sorted(maps.Keys(byPlugin)) {
		own := byPlugin[plugin]
		text := fmt.Sprintf("tool %s: %s", own[0].Name, own[0].Unchecked[0])
		if len(own) > 1 || len(own[0].Unchecked) > 1 {
			text += fmt.Sprintf("; parts of %s of plugin %q are not: toolhost discover --format json has them as \"unchecked\"",
				textutil.Count(len(own), "schema"), plugin)
		}
		out = append(out, errors.New(text))
	}
	return out
}

// explainNoPlugins says how to get plugins.
func (g *options) explainNoPlugins(s *bootstrap.Instance) {
	fmt.Fprintf(g.err, "no plugins: %s leads to none; this line leads to all that are in the folder:\n  %s\n",
		cmp.Or(s.Config().Path, "the folder of installed plugins"), exampleDirs())
}

// listTools lists the catalog by name, or what a search finds in it by rank.
func listTools(ctx context.Context, s *bootstrap.Instance, f discoverFlags) ([]*host.Tool, []error) {
	if f.deferred {
		return deferred(ctx, s, f)
	}
	catalog := s.Catalog().ForModel(f.model)
	tools, problems := catalog.Tools(ctx)
	if !f.searching {
		return tools, problems
	}
	tools = nil
	for _, hit := range catalog.Search(ctx, f.search, 0) {
		tools = append(tools, hit.Tool)
	}
	return tools, problems
}

// awaitTools waits for the tools that plugins expect, such as those of servers that are still starting, and reports
// whether there are others now: what is not there when the command ends would have to start again next time.
func (g *options) awaitTools(ctx context.Context, s *bootstrap.Instance) bool {
	var said sync.Map
	return s.Host().AwaitTools(ctx, func(plugin, _ string) { // what is missing at the end is listed as a notice
		if _, before := said.LoadOrStore(plugin, true); !before {
			fmt.Fprintf(g.err, "waiting for tools of plugin %q, for a minute at most\n", plugin)
		}
	})
}

// A toolList is the list of tools as JSON with what keeps it from being complete.
type toolList struct {
	Tools    []*host.Tool `json:"tools"`
	Problems []problem    `json:"problems"`
}

func (g *options) printTools(tools, deferred []*host.Tool, problems []error, f discoverFlags) error {
	switch {
	case f.problems:
		l := toolList{append([]*host.Tool{}, tools...), []problem{}}
		for _, err := range problems {
			l.Problems = append(l.Problems, g.problemsIn(err)...)
		}
		return g.printJSON(l)
	case f.format == "json":
		return g.printJSON(append([]*host.Tool{}, tools...))
	case f.format != "table":
		return g.export(modelapi.Format(f.format), tools)
	case len(tools) == 0:
		return nil
	}
	writeTable(g.out, toolRows(tools, f.tokens), width(g.out.w))
	if f.tokens {
		fmt.Fprint(g.out, "\n"+tokenSum(tools))
	}
	if deferred != nil {
		fmt.Fprint(g.out, saving(tools, deferred))
	}
	return nil
}

func (g *options) export(f modelapi.Format, tools []*host.Tool) error {
	if f == modelapi.FormatGemini {
		tools = slices.DeleteFunc(slices.Clone(tools), g.tooLongForGemini)
	}
	exported, problems := modelapi.Export(f, tools)
	if exported == nil {
		return errors.Join(problems...)
	}
	g.printErrors(problems...)
	switch {
	case f == modelapi.FormatText:
		var text string
		err := json.Unmarshal(exported, &text)
		fmt.Fprint(g.out, text)
		return err
	case f == modelapi.FormatGemini && len(exported) > maxIndented:
		_, err := fmt.Fprintf(g.out, "%s\n", exported)
		return err
	}
	return g.printJSON(exported)
}

func (g *options) printJSON(v any) error {
	text, err := rawjson.Encode(v, "  ")
	if err == nil {
		_, err = fmt.Fprintf(g.out, "%s\n", text)
	}
	return err
}

func toolRows(tools []*host.Tool, tokens bool) [][]string {
	row := func(name, effect, category, description string, size func() string) []string {
		if !tokens {
			return []string{name, effect, category, description}
		}
		return []string{name, effect, category, size(), description}
	}
	rows := [][]string{row("TOOL", "EFFECT", "CATEGORY", "DESCRIPTION", func() string { return "TOKENS" })}
	for _, t := range tools {
		rows = append(rows, row(t.Name, effect(t.Hints), fitLine(cmp.Or(t.Category, "-"), 12), firstLine(t.Description),
			func() string { return strconv.Itoa(modelapi.EstimateTokens(t)) }))
	}
	return rows
}

// effect summarizes the plugin's hints in a word.
func effect(h sdk.Hints) string {
	switch {
	case h.ReadOnly != nil && *h.ReadOnly:
		return "reads"
	case h.Destructive != nil && *h.Destructive:
		return "changes"
	}
	return "-"
}

func sumTokens(tools []*host.Tool) (sum int) {
	for _, t := range tools {
		sum += modelapi.EstimateTokens(t)
	}
	return sum
}

func tokenSum(tools []*host.Tool) string {
	return fmt.Sprintf("%s: about %s in each prompt\n", textutil.Count(len(tools), "tool"),
		textutil.Count(sumTokens(tools), "token"))
}

// deferred are the tools that a prompt offers at first when all are deferred: those of discover --deferred.
func deferred(ctx context.Context, s *bootstrap.Instance, f discoverFlags) ([]*host.Tool, []error) {
	c, err := s.Catalog().ForModel(f.model).Deferred()
	if err != nil {
		return nil, []error{err}
	}
	return c.Tools(ctx)
}

// saving estimates how much shorter a prompt with only the search tool is.
func saving(tools, deferred []*host.Tool) string {
	all, alone := sumTokens(tools), sumTokens(deferred)
	if alone >= all {
		return fmt.Sprintf("a search tool instead of them: about %s, which saves nothing\n", textutil.Count(alone, "token"))
	}
	return fmt.Sprintf("a search tool instead of them: about %s, which saves %d (%d %%)\n", textutil.Count(alone, "token"),
		all-alone, (all-alone)*100/all)
}

// plain reports whether a running host knows all that is asked for: what its catalog has now.
func (f discoverFlags) plain() bool {
	return len(f.plugins) == 0 && !f.searching && !f.tokens && !f.deferred && !f.refresh && !f.offline && f.model == "" &&
		f.format != string(modelapi.FormatGemini)
}

// discoverOn lists the tools of a running host.
func (g *options) discoverOn(ctx context.Context, r *runningHost, f discoverFlags) error {
	var tools []*host.Tool
	var problems []error
	waiting := time.AfterFunc(time.Second, func() {
		fmt.Fprintln(g.err, "waiting for tools of the running host's plugins")
	})
	defer waiting.Stop()
	for token := ""; ; {
		reply, err := r.host.ListTools(ctx, &apiv1.ListToolsRequest{Schemas: true, PageToken: token, Await: token == ""})
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case err != nil:
			return remoteError(err)
		}
		for _, t := range reply.Tools {
			tool, err := convert.ToTool(t)
			if err != nil {
				return err
			}
			tools = append(tools, tool)
		}
		for _, p := range reply.Problems {
			if token == "" {
				problems = append(problems, errors.New(p))
			}
		}
		if token = reply.NextPageToken; token == "" {
			break
		}
	}
	waiting.Stop()
	g.printErrors(problems...)
	plugins, err := apiv1.NewPluginServiceClient(r.conn).List(ctx, &apiv1.ListPluginsRequest{})
	if err != nil {
		return remoteError(err)
	}
	for _, p := range plugins.Plugins {
		messages, failed := statusNotices(pluginstatus.Status(p))
		g.printErrors(messages...)
		problems = append(problems, failed...)
	}
	g.printErrors(uncheckedNotices(tools)...)
	for _, p := range r.info.Problems {
		problems = append(problems, errors.New(p))
		g.printError(errors.New(p))
	}
	if err := g.printTools(tools, nil, problems, f); err != nil {
		return err
	}
	if len(problems) > 0 {
		return &exitError{code: exitUnavailable}
	}
	return nil
}
