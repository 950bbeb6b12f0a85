package modelapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
)

var update = flag.Bool("update", false, "write what is seen to testdata as what is wanted")

// Each archive is a stream: its comment names the format and, behind known:, tools; chunks has one chunk a line; states is
// what each of them changes, then what the end changes, then the calls. A new case is a new archive with chunks, and go
// test -update.
func TestAssembleStreams(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/streams/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(archive.Comment), archive.Files[0].Data)
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "states", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			diff(t, string(archive.Files[1].Data), got)
		})
	}
}

// replay runs one stream and writes down what comes out.
func replay(t *testing.T, comment string, chunks []byte) string {
	t.Helper()
	first, tools, _ := strings.Cut(strings.Split(comment, "\n")[0], " known: ")
	a := assembler(t, modelapi.Format(strings.TrimSpace(first)), strings.Fields(tools)...)
	var out strings.Builder
	for i, chunk := range bytes.Split(bytes.TrimSpace(chunks), []byte("\n")) {
		states, err := a.Add(chunk)
		if err != nil {
			fmt.Fprintf(&out, "%d: error: %v\n", i+1, err)
		}
		for _, s := range states {
			fmt.Fprintf(&out, "%d: %s\n", i+1, stateWords(s, chunks))
		}
	}
	for _, s := range a.End() {
		fmt.Fprintf(&out, "end: %s\n", stateWords(s, chunks))
	}
	for _, c := range a.Calls() {
		fmt.Fprintf(&out, "call %s %s %s\n", given(c.ID, chunks), c.Tool, c.Arguments)
	}
	return out.String()
}

func assembler(t rapid.TB, f modelapi.Format, known ...string) *modelapi.Assembler {
	t.Helper()
	a, err := modelapi.NewAssembler(f, known...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func stateWords(s modelapi.CallState, chunks []byte) string {
	out := fmt.Sprintf("[%d] %s %s %s", s.Index, s.Status, given(s.ID, chunks), orDash(s.Tool))
	if len(s.Arguments) > 0 {
		out += " " + fmt.Sprintf("%q", s.Arguments)
	}
	if s.Status == host.Generating && !s.Partial.IsZero() {
		out += " shows " + s.Partial.String()
	}
	if s.Err != nil {
		out += fmt.Sprintf("\n    %s %s: %s", s.Err.Code, s.Err.Name, s.Err.Message)
	}
	return out
}

// given is an id, unless it was made here.
func given(id string, chunks []byte) string {
	if !bytes.Contains(chunks, []byte(id)) {
		return "(made)"
	}
	return orDash(id)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func TestAssemblerFormats(t *testing.T) {
	t.Parallel()
	for _, f := range []modelapi.Format{"mcp", "", "OpenAI"} {
		if _, err := modelapi.NewAssembler(f); err == nil || !strings.Contains(err.Error(), "use openai, openai-responses, anthropic, gemini or text") {
			t.Errorf("%q: error %v", f, err)
		}
	}
}

func TestAssemblerIsForOneStream(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatOpenAI)
	a.End()
	if _, err := a.Add([]byte(`{}`)); err == nil || a.End() != nil {
		t.Errorf("it went on after its end: %v", err)
	}
}

// chat is a chunk with one delta.
func chat(index int, id, name, arguments string) []byte {
	out, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"tool_calls": []any{
		map[string]any{"index": index, "id": id, "function": map[string]any{"name": name, "arguments": arguments}}}}}}})
	return out
}

const chatStop = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`

func add(t rapid.TB, a *modelapi.Assembler, chunks ...[]byte) (last []modelapi.CallState) {
	t.Helper()
	for _, c := range chunks {
		states, err := a.Add(c)
		if err != nil {
			t.Fatal(err)
		}
		last = states
	}
	return last
}

// BenchmarkAssemble is one call whose arguments come in pieces of 16 bytes. The time for a byte must not grow with them.
func BenchmarkAssemble(b *testing.B) {
	for _, size := range []int{1 << 10, 32 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			piece := chat(0, "", "", strings.Repeat("x", 16))
			b.SetBytes(int64(size))
			for b.Loop() {
				a := assembler(b, modelapi.FormatOpenAI)
				add(b, a, chat(0, "call_a", "a__b", `{"text":"`))
				for range size/16 - 1 {
					add(b, a, piece)
				}
				add(b, a, chat(0, "", "", `"}`), []byte(chatStop))
				if len(a.Calls()) != 1 {
					b.Fatal("no call")
				}
			}
		})
	}
}
