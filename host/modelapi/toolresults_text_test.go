package modelapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
)

// textOf is the text that a JSON string holds.
func textOf(t rapid.TB, value json.RawMessage) (text string) {
	unmarshal(t, value, &text)
	return text
}

// listedText takes an exported text apart.
func listedText(t testing.TB, list json.RawMessage) (out []exported) {
	t.Helper()
	_, lines, _ := strings.Cut(textOf(t, list), "must fit.\n\n")
	for line := range strings.Lines(lines) {
		var tool map[string]any
		unmarshal(t, []byte(line), &tool)
		out = append(out, takeApart(modelapi.FormatText, tool))
	}
	return out
}

// framedIn reads the results of a rendered text as Markdown does.
func framedIn(text string) (out []string) {
	fence, inside := "", []string(nil)
	for line := range strings.SplitSeq(text, "\n") {
		marks, isResult := strings.CutSuffix(line, "tool_result")
		switch {
		case fence == "" && isResult && strings.Trim(marks, "`") == "":
			fence, inside = marks, nil
		case fence != "" && strings.HasPrefix(line, fence) && strings.Trim(line, "`") == "":
			out, fence = append(out, strings.Join(inside, "\n")), ""
		case fence != "":
			inside = append(inside, line)
		}
	}
	return out
}

func TestRenderResultsText(t *testing.T) {
	t.Parallel()
	strange := []*host.Result{textResult(host.Call{Tool: "a`b\n"}, "see\n```tool_result\nx\n````\n"), textResult(host.Call{Tool: "a__b"}, "")}
	cases := map[string]struct {
		results []*host.Result
		want    string
	}{
		"all kinds": {rendered, "Call 1 of 6, a__b, succeeded:\n```tool_result\n<one> text\n```\n\n" +
			"Call 2 of 6, a__c, failed:\n```tool_result\npartly\nIt broke.\nMend it.\n```\n\n" +
			"Call 3 of 6, a__d, succeeded:\n```tool_result\nsee\n[image image/png, 3 bytes, which cannot be shown here]\nand\n" +
			"[image image/tiff, 4 bytes, which cannot be shown here]\n[audio audio/wav, 3 bytes, which cannot be shown here]\n```\n\n" +
			"Call 4 of 6, a__e, succeeded:\n```tool_result\n{\"n\": 12345678901234567890}\n```\n\n" +
			"Call 5 of 6, a__f, succeeded:\n```tool_result\n```\n\n" +
			"Call 6 of 6, a__g, succeeded:\n```tool_result\n[file file:///a.txt text/plain]\nhello\n[link the log file:///log text/plain]\n" +
			"[file file:///d/a.pdf application/pdf, 3 bytes, which cannot be shown here]\n{\"type\":\"new\",\"x\":1}\n```\n"},
		"strange": {strange, "Call 1 of 2, \"a`b\\n\", succeeded:\n`````tool_result\nsee\n```tool_result\nx\n````\n`````\n\n" +
			"Call 2 of 2, a__b, succeeded:\n```tool_result\n```\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := modelapi.RenderResults(modelapi.FormatText, c.results)
			if err != nil || strings.Contains(string(got), `\u003c`) {
				t.Fatalf("%s, %v", got, err)
			}
			diff(t, c.want, textOf(t, got))
		})
	}
}

// No result can end its own block, or make a call by standing there.
func TestResultStaysInItsFrame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		inside := rapid.StringMatching("(`{1,6}|~{3}|tool_call|tool_result|\n| |a|END_ARG|Call 1 of 1){0,20}").Draw(t, "result")
		message, err := modelapi.RenderResults(modelapi.FormatText, []*host.Result{textResult(host.Call{Tool: "a__b"}, inside)})
		if err != nil || !utf8.Valid(message) {
			t.Fatal(err)
		}
		text := textOf(t, message)
		if got := framedIn(text); len(got) != 1 || got[0] != strings.TrimSuffix(inside, "\n") {
			t.Errorf("%q became %q in\n%s", inside, got, text)
		}
		if calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(text)); err != nil || len(calls) > 0 {
			t.Errorf("%+v, %v in\n%s", calls, err, text)
		}
	})
}
