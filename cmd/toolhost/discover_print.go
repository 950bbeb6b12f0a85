package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

func (g *globals) printTools(tools, deferred []*host.Tool, f discoverFlags) error {
	switch {
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
	if f.tokens && !f.searching && !f.deferred {
		fmt.Fprint(g.out, saving(tools, deferred))
	}
	return nil
}

func (g *globals) export(f modelapi.Format, tools []*host.Tool) error {
	if f == modelapi.FormatGemini {
		tools = slices.DeleteFunc(slices.Clone(tools), g.tooLongForGemini)
	}
	exported, problems := modelapi.Export(f, tools)
	if exported == nil {
		return errors.Join(problems...)
	}
	for _, p := range problems {
		g.complain(p)
	}
	switch {
	case f == modelapi.FormatText:
		return g.printText(exported)
	case f == modelapi.FormatGemini && len(exported) > maxIndented:
		_, err := fmt.Fprintf(g.out, "%s\n", exported)
		return err
	}
	return g.printJSON(exported)
}

const (
	// geminiPrefix is what Gemini CLI puts in front of a tool's name, and geminiName how long a name Gemini takes: one that
	// is longer makes it refuse every request.
	geminiPrefix = "discovered_tool_"
	geminiName   = 64
	// maxIndented keeps the list below the 10 MiB that Gemini CLI reads: indented it has up to ten times the size.
	maxIndented = 1 << 20
)

// tooLongForGemini says so, and tells.
func (g *globals) tooLongForGemini(t *host.Tool) bool {
	most := geminiName - len(geminiPrefix)
	if len(t.Name) <= most {
		return false
	}
	g.complain(fmt.Errorf("tool %s is left out of format gemini: its name has %d characters, at most %d leave room for the %s that Gemini CLI puts in front; a shorter name for the plugin helps",
		t.Name, len(t.Name), most, geminiPrefix))
	return true
}

// printText prints what a JSON string holds.
func (g *globals) printText(value json.RawMessage) error {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return err
	}
	_, err := fmt.Fprint(g.out, text)
	return err
}

func (g *globals) printJSON(v any) error {
	e := json.NewEncoder(g.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func toolRows(tools []*host.Tool, tokens bool) [][]string {
	rows := [][]string{{"TOOL", "EFFECT", "CATEGORY", "TOKENS", "DESCRIPTION"}}
	for _, t := range tools {
		rows = append(rows, []string{t.Name, effect(t.Hints), fit(cmp.Or(t.Category, "-"), 12), strconv.Itoa(modelapi.EstimateTokens(t)), firstLine(t.Description)})
	}
	if !tokens {
		for i, row := range rows {
			rows[i] = slices.Delete(row, 3, 4)
		}
	}
	return rows
}

// effect says in a word what the plugin hints at.
func effect(h sdk.Hints) string {
	var words []string
	switch {
	case h.ReadOnly != nil && *h.ReadOnly:
		words = append(words, "reads")
	case h.Destructive != nil && *h.Destructive:
		words = append(words, "changes")
	}
	return cmp.Or(strings.Join(words, " "), "-")
}
