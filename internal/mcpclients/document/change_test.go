package document

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

// The comment of a golden file names the syntax and the path, with [] after it for a list.
func TestChanges(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	if len(files) < 20 {
		t.Fatalf("%d golden files", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			words := strings.Fields(string(archive.Comment))
			syntax := Syntax(strings.ToUpper(words[0]))
			name, listed := strings.CutSuffix(words[1], "[]")
			c := Change{Path: []string{name}, Name: "toolhost", Listed: listed, Instead: []string{"url"},
				Value: Map("command", "/opt/bin/toolhost", "args", List("mcp", "--config", "/home/a b/config.hcl"),
					"enabled", Flag(true))}
			if listed {
				c.Value.Members = append([]Member{{Name: "name", Value: Text("toolhost")}}, c.Value.Members...)
			}
			before := archive.Files[0].Data
			crlf := slices.Contains(words, "crlf")
			if crlf {
				before = bytes.ReplaceAll(before, []byte("\n"), []byte("\r\n"))
			}
			after, err := Apply(syntax, before, c)
			got := "-- after --\n" + strings.TrimSuffix(string(after), "\n") + "\n"
			if err != nil {
				got = "-- error --\n" + err.Error() + "\n"
			} else if again, err := Apply(syntax, after, c); err != nil || !bytes.Equal(again, after) {
				t.Errorf("the second time: %v\n%s", err, again)
			}
			if crlf {
				if strings.Count(got, "\n") != strings.Count(got, "\r\n")+1 {
					t.Errorf("line ends are mixed: %q", got)
				}
				got = strings.ReplaceAll(got, "\r\n", "\n")
			}
			text := string(archive.Comment) + "-- before --\n" + string(archive.Files[0].Data) + got
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, _ := os.ReadFile(file)
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
