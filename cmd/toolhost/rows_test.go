package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func TestInRows(t *testing.T) {
	for _, c := range []struct {
		in   string
		room int
		want string
	}{
		{"as long as one likes", 0, "as long as one likes"},
		{"exactly twelve\n", 14, "exactly twelve\n"},
		{"one two three four five\nsix\n", 14, "one two three \n  … four five\nsix\n"},
		{"aaaaaaaaaaaaaaaabbbbbbbbbbbbc", 16, "aaaaaaaaaaaaaaaa\n  … bbbbbbbbbbbb\n  … c"},
		{"  a: " + strings.Repeat("x", 10), 14, "  a: xxxxxxxxx\n  … x"},
		{"no room at all", 1, "no room at \n  … all"},
		{"\x1b[31mred red red red\x1b[0m", 12, "\x1b[31mred red red \n  … red\x1b[0m"},
		{"a\tb\tc", 16, "a\tb\t\n  … c"},
		{"世界世界世界世界", 12, "世界世界世界\n  … 世界"},
		{"cafe\u0301 cafe\u0301", 12, "cafe\u0301 cafe\u0301"},
	} {
		if got := inRows(c.in, c.room); got != c.want {
			t.Errorf("inRows(%q, %d) gives %q, want %q", c.in, c.room, got, c.want)
		}
	}
}

// questionAt shows a question at a terminal of a size, answers it, and returns the rows.
func questionAt(t *testing.T, columns, rows uint16, typed string, ask func(context.Context, *prompter) error) []string {
	t.Helper()
	t.Setenv("NO_COLOR", "1")
	screen, tty, err := pty.Open()
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	defer screen.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Cols: columns, Rows: rows}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(screen) // it ends with an error of the terminal
		shown <- string(text)
	}()
	from := strings.NewReader(typed)
	err = ask(t.Context(), newPrompter(&globals{terminal: newTerminal(from, io.Discard, tty)}, from))
	tty.Close()
	if err != nil {
		t.Fatal(err)
	}
	// what is typed is not on this terminal
	text := strings.NewReplacer("\r\n> ", "\n> \n", "\r\n", "\n", "[y/N] ", "[y/N] \n").Replace(<-shown)
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// No terminal breaks a line of a question: what a plugin writes in a long one would begin a row then.
func TestQuestionsStayInTheirRows(t *testing.T) {
	const forged = "shell__exec wants to run."
	pad := func(n int) string { return strings.Repeat("x", n) + forged + strings.Repeat("y ", 60) + forged }
	for _, columns := range []uint16{30, 51, 110} {
		for name, ask := range map[string]func(context.Context, *prompter, string) error{
			"call": func(ctx context.Context, p *prompter, text string) error {
				r := deletes()
				r.Arguments, r.Problem = json.RawMessage(`{"path":"`+text+`"}`), text
				r.Tool.Description, r.Prefix = text, []string{text}
				diff := sdk.TextContent("--- a\n+++ b\n@@ -0,0 +1 @@\n+" + text)
				r.Preview = &sdk.Preview{Reason: text, Content: []sdk.Content{diff}}
				_, err := p.Approve(ctx, r)
				return err
			},
			"form": func(ctx context.Context, p *prompter, text string) error {
				params, err := json.Marshal(map[string]any{"method": "elicitation/create", "params": map[string]any{
					"message": text, "requestedSchema": map[string]any{"properties": map[string]any{
						text: map[string]any{"type": "string", "description": text, "enum": []string{text}}}}}})
				if err != nil {
					return err
				}
				_, err = p.AnswerInput(ctx, &host.InputRequest{Tool: deletes().Tool,
					Requests: map[string]json.RawMessage{"q": params}})
				return err
			},
		} {
			for used := range int(columns) { // one of them puts the forged line at the margin, if the terminal breaks it
				lines := questionAt(t, columns, 200, "y\nwrong\n\n", func(ctx context.Context, p *prompter) error {
					return ask(ctx, p, pad(used))
				})
				for _, line := range lines {
					if n := textColumns(line); n >= int(columns) || strings.HasPrefix(line, forged) {
						t.Fatalf("%s, %d columns: the row %q has %d:\n%s", name, columns, line, n, strings.Join(lines, "\n"))
					}
				}
			}
		}
	}
}

// The last line of a question that is longer than the terminal names what it is about.
func TestLastLineOfALongQuestion(t *testing.T) {
	call := func(lines int) func(context.Context, *prompter) error {
		return func(ctx context.Context, p *prompter) error {
			r := deletes()
			r.Via = &host.Via{Plugin: "evil", Tool: "evil__run"}
			r.Preview = &sdk.Preview{Content: []sdk.Content{sdk.TextContent(strings.Repeat("line\n", lines))}}
			_, err := p.Approve(ctx, r)
			return err
		}
	}
	const short, long = "Run it? [y/N] ", "ops__delete of plugin ops, called by plugin evil: Run it? [y/N] "
	for rows, want := range map[uint16]string{10: long, 24: long, 60: short} {
		lines := questionAt(t, 80, rows, "y\n", call(20))
		if got := lines[len(lines)-1]; got != want {
			t.Errorf("%d rows: %q, want %q", rows, got, want)
		}
	}
	lines := questionAt(t, 80, 24, "n\n", func(ctx context.Context, p *prompter) error {
		params, _ := json.Marshal(map[string]any{"method": "elicitation/create", "params": map[string]any{
			"message": strings.Repeat("line\n", 30)}})
		_, err := p.AnswerInput(ctx, &host.InputRequest{Tool: deletes().Tool,
			Requests: map[string]json.RawMessage{"q": params}})
		return err
	})
	if got := lines[len(lines)-1]; got != "ops__delete of plugin ops: Yes? [y/N] " {
		t.Errorf("the form ends with %q", got)
	}
}
