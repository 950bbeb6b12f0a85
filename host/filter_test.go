package host_test

import (
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// with is a definition with these properties.
func toolWith(name string, change func(*sdk.Tool)) sdk.Tool {
	d := tool(name)
	change(&d)
	return d
}

func reads(d *sdk.Tool) { d.Hints.ReadOnly = sdk.Yes }

// files are the tools of a plugin of every kind.
func files() *fake {
	return answering(sdk.Text("done"), nil,
		toolWith("read", func(d *sdk.Tool) { d.Hints.ReadOnly, d.Category, d.CostTier = sdk.Yes, "files", sdk.Free }),
		toolWith("write", func(d *sdk.Tool) { d.Hints.ReadOnly, d.Category, d.CostTier = sdk.No, "files", sdk.Cheap }),
		toolWith("index", func(d *sdk.Tool) { d.Hints.ReadOnly, d.Category, d.CostTier = sdk.Yes, "search", sdk.Expensive }),
		writes("plain"))
}

func TestFilter(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{"files": files(), "shell": answering(sdk.Text("done"), nil, writes("exec"))}, host.Options{Approver: agreeing})
	all := []string{"files__index", "files__plain", "files__read", "files__write", "shell__exec"}
	cases := map[string]struct {
		filter host.Filter
		want   []string
	}{
		"zero":                   {host.Filter{}, all},
		"no tools":               {host.Filter{Tools: []string{}}, nil},
		"one name":               {host.Filter{Tools: []string{"files__read"}}, []string{"files__read"}},
		"a plugin":               {host.Filter{Tools: []string{"shell__*"}}, []string{"shell__exec"}},
		"everything":             {host.Filter{Tools: []string{"*"}}, all},
		"the end":                {host.Filter{Tools: []string{"*e"}}, []string{"files__write"}},
		"one of several":         {host.Filter{Tools: []string{"files__[p-r]*"}}, []string{"files__plain", "files__read"}},
		"question mark":          {host.Filter{Tools: []string{"?hell__exec", "files__rea?"}}, []string{"files__read", "shell__exec"}},
		"a backslash":            {host.Filter{Tools: []string{`\files__read`}}, []string{"files__read"}},
		"a plugin is no tool":    {host.Filter{Tools: []string{"files", "exec", "__", ""}}, nil},
		"exclude":                {host.Filter{Exclude: []string{"files__*"}}, []string{"shell__exec"}},
		"exclude wins":           {host.Filter{Tools: []string{"files__read", "shell__exec"}, Exclude: []string{"*__exec"}}, []string{"files__read"}},
		"exclude everything":     {host.Filter{Exclude: []string{"**"}}, nil},
		"exclude nothing":        {host.Filter{Exclude: []string{}}, all},
		"read-only":              {host.Filter{ReadOnly: true}, []string{"files__index", "files__read"}},
		"categories":             {host.Filter{Categories: []string{"search", "none"}}, []string{"files__index"}},
		"no category told":       {host.Filter{Categories: []string{""}}, []string{"files__plain", "shell__exec"}},
		"no categories":          {host.Filter{Categories: []string{}}, nil},
		"free":                   {host.Filter{MaxCostTier: sdk.Free}, []string{"files__read"}},
		"cheap":                  {host.Filter{MaxCostTier: sdk.Cheap}, []string{"files__plain", "files__read", "files__write", "shell__exec"}},
		"expensive":              {host.Filter{MaxCostTier: sdk.Expensive}, all},
		"own condition":          {host.Filter{Match: func(t *host.Tool) bool { return t.Plugin == "shell" }}, []string{"shell__exec"}},
		"all conditions at once": {host.Filter{Tools: []string{"files__*"}, Exclude: []string{"*__index"}, ReadOnly: true, Categories: []string{"files"}, MaxCostTier: sdk.Cheap}, []string{"files__read"}},
	}
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := catalog(t, h, k.filter)
			for range 2 { // the second time it is remembered
				tools, problems := c.Tools(t.Context())
				diff(t, k.want, names(tools))
				diff(t, []string(nil), texts(problems))
			}
			allowed := map[string]bool{}
			for _, name := range k.want {
				allowed[name] = true
			}
			for _, name := range all {
				if r := c.Call(t.Context(), call(name, "")); allowed[name] {
					succeeded(t, r)
				} else {
					failed(t, r, sdk.CodeNotInCatalog)
				}
			}
		})
	}
}

func TestBadFilter(t *testing.T) {
	t.Parallel()
	h := single(t, answering(nil, nil), host.Options{Approver: agreeing})
	good := catalog(t, h, host.Filter{})
	f := host.Filter{Tools: []string{"ok__*", "[a"}, Exclude: []string{`x\`}, MaxCostTier: "dear"}
	for name, build := range map[string]func(host.Filter) (*host.Catalog, error){"Catalog": h.Catalog, "Narrow": good.Narrow} {
		c, err := build(f)
		if c != nil || err == nil {
			t.Fatalf("%s makes %v, %v", name, c, err)
		}
		diff(t, `filter: "[a" is no glob of tool names: close each [ with ], and end none with a \`+"\n"+
			`filter: "x\\" is no glob of tool names: close each [ with ], and end none with a \`+"\n"+
			`filter: cost tier "dear" is not one of free, cheap, expensive`, err.Error())
	}
}

// What cannot be in the catalog is not started: neither to list, nor to refuse, nor to suggest.
func TestCatalogStartsNoOthers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		filter host.Filter
		asked  []string
	}{
		"a plugin":               {host.Filter{Tools: []string{"read__*"}}, []string{"read"}},
		"a name":                 {host.Filter{Tools: []string{"read__run"}}, []string{"read"}},
		"a class":                {host.Filter{Tools: []string{"[r]ead__*"}}, []string{"read"}},
		"a star in the label":    {host.Filter{Tools: []string{"re*"}}, []string{"read", "reader"}},
		"a star in front":        {host.Filter{Tools: []string{"*__run"}}, []string{"read", "reader", "shell"}},
		"excluded":               {host.Filter{Exclude: []string{"read*"}}, []string{"shell"}},
		"one of a plugin":        {host.Filter{Exclude: []string{"read__run", "reader__*"}}, []string{"read", "shell"}},
		"excluded by underlines": {host.Filter{Exclude: []string{"read__*", "reader_*", "shell*"}}, nil},
		"not quite excluded":     {host.Filter{Exclude: []string{"read__r*", "*n"}}, []string{"read", "reader", "shell"}},
		"nothing":                {host.Filter{Tools: []string{}}, nil},
		"no category":            {host.Filter{Categories: []string{}}, nil},
		"no separator":           {host.Filter{Tools: []string{"read", "shell_", "reader_run", "?????"}}, nil},
	}
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plugins := map[string]*fake{"read": answering(nil, nil), "reader": answering(nil, nil), "shell": answering(nil, nil)}
			h := newHost(t, map[string]host.Plugin{"read": plugins["read"], "reader": plugins["reader"], "shell": plugins["shell"]}, host.Options{Approver: agreeing})
			c := catalog(t, h, k.filter)
			c.Tools(t.Context())
			c.Search(t.Context(), "run", 0)
			asked := map[string]bool{}
			for _, label := range k.asked {
				asked[label] = true
			}
			for label, p := range plugins {
				if !asked[label] {
					failed(t, c.Call(t.Context(), call(label+"__run", "")), sdk.CodeNotInCatalog)
				}
				if want := map[bool]int64{true: 1}[asked[label]]; p.listed.Load() != want {
					t.Errorf("%s was asked %d times, want %d", label, p.listed.Load(), want)
				}
			}
		})
	}
}
