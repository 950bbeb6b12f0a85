package host_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// Names that a person could confuse are refused, with both owners named, and exclude no other tool.
func TestNamesThatLookAlike(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{
		"files": echoing(tool("read_file"), tool("read_fiIe"), tool("list0"), tool("listO"), tool("get1"), tool("tail"),
			tool("tall")),
		"other": echoing(tool("read_file")),
	}, host.Options{})
	tools, problems := h.Tools(t.Context())
	diff(t, []string{"files__get1", "files__tail", "files__tall", "other__read_file"}, names(tools))
	if len(problems) != 4 {
		t.Fatalf("%d problems: %v", len(problems), problems)
	}
	for _, p := range problems {
		text := p.Error()
		if !strings.Contains(text, "files__read_fiIe and files__read_file, whose names look alike") &&
			!strings.Contains(text, "files__list0 and files__listO, whose names look alike") ||
			!strings.Contains(text, "exclude_tools") {
			t.Error(text)
		}
	}
	e := failed(t, h.Call(t.Context(), call("files__read_fiIe", "")), sdk.CodeToolNotFound)
	if !strings.Contains(e.Message, "look alike") {
		t.Error(e.Message)
	}
}

// For any plugins, each listed name belongs to one tool alone, has at most 64 characters, depends only on the
// plugin's label and the tool's name, and runs that tool. Another plugin changes none.
func TestNamesDependOnTheirToolAlone(t *testing.T) {
	t.Parallel()
	label := rapid.StringMatching(`[a-z][a-z0-9-]{0,31}`)
	name := rapid.StringMatching(`[A-Za-z0-9]([A-Za-z0-9-]|_[A-Za-z0-9-]){0,29}`)
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfNDistinct(label, 1, 4, rapid.ID).Draw(t, "plugins")
		labels = slices.DeleteFunc(labels, func(l string) bool { return l == "toolhost" || l == "tools" })
		lists := map[string][]sdk.Tool{}
		all := map[string]host.Plugin{}
		for _, l := range labels {
			for _, n := range rapid.SliceOfN(name, 1, 5).Draw(t, "tools of "+l) {
				lists[l] = append(lists[l], tool(n))
			}
			own := l
			all[l] = calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
				return sdk.Text(own + " " + r.Tool), nil
			}, lists[l]...)
		}
		together, problems := listedBy(t, all)
		seen := 0
		for full, answer := range together {
			seen++
			if len(full) > 64 {
				t.Fatalf("%s has %d characters", full, len(full))
			}
			plugin, own, _ := strings.Cut(answer, " ")
			if !strings.HasPrefix(full, plugin+"__") || len(plugin+"__"+own) <= 64 && full != plugin+"__"+own {
				t.Fatalf("%s runs %s", full, answer)
			}
		}
		declared := map[string]bool{} // a tool that is declared several times is one problem
		for l, p := range all {
			for _, declaration := range lists[l] {
				declared[l+"__"+declaration.Name] = true
			}
			alone, _ := listedBy(t, map[string]host.Plugin{l: p})
			for full, answer := range alone {
				if together[full] != answer {
					t.Fatalf("%s runs %q, and beside other plugins %q", full, answer, together[full])
				}
			}
		}
		if seen+problems != len(declared) {
			t.Fatalf("%d tools and %d problems of %d tools", seen, problems, len(declared))
		}
	})
}

// listedBy calls each tool that a host with these plugins lists, and returns the results by name.
func listedBy(t *rapid.T, plugins map[string]host.Plugin) (answers map[string]string, problems int) {
	h, err := host.New(plugins, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	tools, wrong := h.Tools(context.Background())
	answers = map[string]string{}
	for _, d := range tools {
		r := h.Call(context.Background(), call(d.Name, ""))
		if r.Error != nil || answers[d.Name] != "" {
			t.Fatalf("%s: %+v", d.Name, r.Error)
		}
		answers[d.Name] = r.Text()
	}
	return answers, len(wrong)
}
