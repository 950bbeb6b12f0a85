package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// helpWithTools makes `call TOOL --help` describe the tool. Errors are kept for the exit code.
func (g *options) helpWithTools(cmd *cobra.Command, profile *string) {
	plain := cmd.HelpFunc()
	cmd.SetHelpFunc(func(c *cobra.Command, args []string) {
		words := c.Flags().Args()
		if len(words) == 0 {
			plain(c, args)
			return
		}
		err := c.Root().PersistentPreRunE(c, nil)
		if err == nil {
			var t *host.Tool
			if t, err = g.definition(c.Context(), words[0], *profile); err == nil {
				describeTool(g.out, t, width(g.out.w))
			}
		}
		if g.late != nil {
			*g.late = err
		}
	})
}

// definition is that of a tool, of the running host or of one of this command.
func (g *options) definition(ctx context.Context, tool, profile string) (*host.Tool, error) {
	r, err := g.hostFor(ctx, profile)
	if err != nil {
		return nil, err
	}
	if r != nil {
		defer r.close()
		described, err := r.host.DescribeTool(ctx, &apiv1.DescribeToolRequest{Tool: tool})
		if err != nil {
			return nil, remoteError(err)
		}
		return convert.ToTool(described.Tool)
	}
	o := g.bootstrapOptions()
	o.Profile, o.SingleCall, o.Tool = profile, true, tool
	s, err := g.open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer g.close(s)
	if tool, err = resolved(ctx, s, tool); err != nil {
		return nil, err
	}
	t, err := s.Catalog().Tool(ctx, tool)
	if e, coded := errors.AsType[*sdk.Error](err); coded {
		err = &exitError{codeFor(e), describeWithHints(e, tool)}
	}
	return t, err
}

// describeTool prints how to call a tool.
func describeTool(w io.Writer, t *host.Tool, room int) {
	schema := readSchema(t.InputSchema, nil)
	fmt.Fprintln(w, indentRest(replaceForTerminal(strings.TrimSpace(t.Description))))
	fmt.Fprintf(w, "\nUsage:\n  toolhost call %s%s\n", t.Name, usageOf(schema))
	if names := schema.properties(); len(names) > 0 {
		fmt.Fprintln(w, "\nArguments:")
		for _, name := range names {
			describeArgument(w, schema, name, room)
		}
	}
	first, words := "", ""
	if names := schema.properties(); len(names) > 0 {
		first = names[0]
	}
	sample := t.Sample(first)
	for _, m := range rawjson.ObjectOf(sample) {
		words += " " + replaceForTerminal(m.Name) + wordOf(m.Value)
	}
	fmt.Fprintln(w, "\nExamples:")
	if !strings.Contains(words, "\n") {
		fmt.Fprintf(w, "  toolhost call %s%s\n", t.Name, words)
	}
	fmt.Fprintf(w, "  toolhost call %s %s\n", t.Name, textutil.ShellQuoted(string(sample)))
}

func usageOf(schema *argSchema) (out string) {
	required := schema.required()
	for _, name := range schema.properties() {
		if word := replaceLine(name) + "=…"; slices.Contains(required, name) {
			out += " " + word
		} else {
			out += " [" + word + "]"
		}
	}
	return out
}

// describeArgument prints one argument: its type, whether it is required, and its meaning.
func describeArgument(w io.Writer, schema *argSchema, name string, room int) {
	s := schema.property(name)
	if s == nil {
		return
	}
	facts := schema.facts(name)
	if standard := s.follow().raw["default"]; standard != nil {
		facts += "; default " + string(standard)
	}
	fmt.Fprintf(w, "  %s (%s)\n", replaceLine(name), replaceLine(facts))
	var meaning string
	if s.get("description", &meaning) || s.follow().get("description", &meaning) {
		for _, line := range wrapWords(replaceForTerminal(meaning), max(room, 40)-6) {
			fmt.Fprintln(w, "      "+line)
		}
	}
	for _, inner := range innerNames(s) {
		fmt.Fprintln(w, "      "+replaceLine(name+inner))
	}
}

// innerNames are the members of an object, or of the objects of a list, with their types.
func innerNames(s *argSchema) (out []string) {
	prefix := "."
	if s.takes("array") && s.types() != nil {
		s, prefix = s.items(), ".0."
	}
	for _, name := range s.properties() {
		if s.property(name) != nil {
			out = append(out, fmt.Sprintf("%s%s (%s)", prefix, name, s.facts(name)))
		}
	}
	return out
}

// wrapWords wraps a text into lines.
func wrapWords(text string, room int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && textColumns(line)+1+textColumns(word) > room {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// wordOf is the rest of a word that gives an argument the value.
func wordOf(value json.RawMessage) string {
	var text string
	switch {
	case value[0] == '"' && json.Unmarshal(value, &text) == nil:
		if strings.ContainsAny(text, " '\"\\$&|;<>()*?[]#~!`\n\t") {
			text = textutil.ShellQuoted(text)
		}
		return "=" + text
	case strings.ContainsAny(string(value), "{[\" "):
		return ":=" + textutil.ShellQuoted(string(value))
	}
	return "=" + string(value)
}
