package sdk_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

func TestAddToolPanics(t *testing.T) {
	handle := func(context.Context, *sdk.Request, none) (*sdk.Result, error) { return nil, nil }
	for want, add := range map[string]func(p *sdk.Plugin){
		`sdk: tool "x" is there twice`: func(p *sdk.Plugin) {
			sdk.AddTool(p, sdk.Tool{Name: "x", Description: "d"}, handle)
			sdk.AddTool(p, sdk.Tool{Name: "x", Description: "d"}, handle)
		},
		`sdk: tool name "A b" must match ^[A-Za-z0-9][A-Za-z0-9_-]*$`: func(p *sdk.Plugin) {
			sdk.AddTool(p, sdk.Tool{Name: "A b", Description: "d"}, handle)
		},
		`sdk: tool "x" has no description; models need one to choose it`: func(p *sdk.Plugin) {
			sdk.AddTool(p, sdk.Tool{Name: "x"}, handle)
		},
		`sdk: tool "x" has no handler`: func(p *sdk.Plugin) {
			sdk.AddTool[none, *sdk.Result](p, sdk.Tool{Name: "x", Description: "d"}, nil)
		},
		`sdk: tool "x": the input schema must be a JSON object such as {"type":"object"}`: func(p *sdk.Plugin) {
			p.AddRawTool(sdk.Tool{Name: "x", Description: "d"}, returns(nil, nil))
		},
		`sdk: tool "x": []int is not a struct; only structs have named fields`: func(p *sdk.Plugin) {
			sdk.AddTool(p, sdk.Tool{Name: "x", Description: "d"},
				func(context.Context, *sdk.Request, []int) (*sdk.Result, error) {
					return nil, nil
				})
		},
		`sdk: tool "x": *sdk_test.none is a pointer; use sdk_test.none`: func(p *sdk.Plugin) {
			sdk.AddTool(p, sdk.Tool{Name: "x", Description: "d"},
				func(context.Context, *sdk.Request, *none) (*sdk.Result, error) { return nil, nil })
		},
		`sdk: tool "x": sdk_test.timed decodes itself, perhaps by a method of a type that it embeds`: func(p *sdk.Plugin) {
			sdk.AddTool(p, sdk.Tool{Name: "x", Description: "d"},
				func(context.Context, *sdk.Request, timed) (*sdk.Result, error) { return nil, nil })
		},
		`sdk: the configuration: int is not a struct; only structs have named fields`: func(p *sdk.Plugin) {
			sdk.Configure(p, func(context.Context, *sdk.Request, int) error { return nil })
		},
		`sdk: AddPreview: tool "x" gets no function`: func(p *sdk.Plugin) {
			sdk.AddTool(p, sdk.Tool{Name: "x", Description: "d"}, handle)
			sdk.AddPreview[none](p, "x", nil)
		},
		`sdk: Configure is called without a function`: func(p *sdk.Plugin) { sdk.Configure[none](p, nil) },
		`sdk: Configure is called after Serve has begun, so no host sees it`: func(p *sdk.Plugin) {
			names(t, sdktest.Start(t, p))
			sdk.Configure(p, func(context.Context, *sdk.Request, none) error { return nil })
		},
		`sdk: AtEnd is called without a function`: func(p *sdk.Plugin) { p.AtEnd(nil) },
		`sdk: the tool "x" is added after Serve has begun, so no host sees it`: func(p *sdk.Plugin) {
			names(t, sdktest.Start(t, p))
			sdk.AddTool(p, sdk.Tool{Name: "x", Description: "d"}, handle)
		},
		`sdk: the tool "x" is added to a Plugin that New has not made`: func(*sdk.Plugin) {
			sdk.AddTool(new(sdk.Plugin), sdk.Tool{Name: "x", Description: "d"}, handle)
		},
		`sdk: the preview of tool "x" is added after Serve has begun, so no host sees it`: func(p *sdk.Plugin) {
			sdk.AddTool(p, sdk.Tool{Name: "x", Description: "d"}, handle)
			names(t, sdktest.Start(t, p))
			sdk.AddPreview(p, "x", func(context.Context, *sdk.Request, none) (*sdk.Preview, error) { return nil, nil })
		},
		`sdk: AddPreview: there is no tool "x"`: func(p *sdk.Plugin) {
			sdk.AddPreview(p, "x", func(context.Context, *sdk.Request, none) (*sdk.Preview, error) { return nil, nil })
		},
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, want) {
					t.Errorf("it panics with %s", got)
				}
			}()
			add(sdk.New("p", "1.0.0"))
		})
	}
}

// A timed has the methods of time.Time, which take the place of its fields in JSON.
type timed struct {
	time.Time
	Name string `json:"name"`
}

func names(t *testing.T, c *sdktest.Plugin) (out []string) {
	t.Helper()
	tools, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func TestSetTools(t *testing.T) {
	bound := func(name string) sdk.BoundTool {
		return sdk.BoundTool{Tool: tool(name), Handler: returns(sdk.Text(name), nil)}
	}
	p := with(returns(nil, nil))
	c := sdktest.Start(t, p)
	if err := p.SetTools([]sdk.BoundTool{bound("a"), bound("b")}, sdk.Notice{Kind: sdk.Problem, Text: "c failed: \xff"}, sdk.Notice{Kind: sdk.Remark, Text: "d was left out"}); err != nil {
		t.Fatal(err)
	}
	d, err := c.Describe(t.Context())
	wantNotices := []sdk.Notice{{Kind: sdk.Problem, Text: "c failed: \uFFFD"}, {Kind: sdk.Remark, Text: "d was left out"}}
	if err != nil || !d.Dynamic || !cmp.Equal(d.Notices, wantNotices) || d.SDK == "" {
		t.Errorf("the description is %+v, %v", d, err)
	}
	for want, tools := range map[string][]sdk.BoundTool{
		`tool "d" is there twice`:                              {bound("d"), bound("d")},
		`tool "d" has no handler`:                              {{Tool: tool("d")}},
		`tool name "É" must match ^[A-Za-z0-9][A-Za-z0-9_-]*$`: {bound("d"), bound("É")},
		`tools "getWeather" and "getweather" have names that differ only by letter case; rename one of them`: {bound("getWeather"), bound("d"), bound("getweather")},
	} {
		if err := p.SetTools(tools); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, names(t, c)); diff != "" {
		t.Error(diff)
	}
	if result := c.Unchecked().Run(t, "x", ""); result.Error == nil || result.Error.Code != sdk.CodeToolNotFound {
		t.Errorf("the tool that was replaced gives %+v", result)
	}
	if result := c.Run(t, "b", ""); result.Error != nil || result.Content[0].Text != "b" {
		t.Errorf("a new tool gives %+v", result)
	}
}

// Twice as many tools take twice as much memory, and not four times.
func TestSetToolsTakesMemoryInProportionToTheTools(t *testing.T) {
	allocated := func(count int) uint64 {
		tools := make([]sdk.BoundTool, count)
		for i := range tools {
			tools[i] = sdk.BoundTool{Tool: tool(fmt.Sprint("t", i)), Handler: returns(nil, nil)}
		}
		p := sdk.New("p", "1.0.0")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := p.SetTools(tools); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(1) // allocations that are made once
	if half, whole := allocated(2048), allocated(4096); whole > 3*half {
		t.Errorf("2048 tools take %d bytes and 4096 take %d", half, whole)
	}
}

// However fast the tools change, watchers see the last change in the end.
func TestWatch(t *testing.T) {
	p := with(returns(nil, nil))
	c := sdktest.Start(t, p)
	ctx, stop := context.WithCancel(t.Context())
	stands, ended, seen := make(chan struct{}, 1), make(chan error, 1), make(chan string, 1000)
	go func() {
		ended <- c.Watch(ctx, func() {
			seen <- strings.Join(names(t, c), " ")
			select {
			case stands <- struct{}{}:
			default:
			}
		})
	}()
	<-stands
	for i := range 200 {
		if err := p.SetTools([]sdk.BoundTool{{Tool: tool(fmt.Sprint("t", i)), Handler: returns(nil, nil)}}); err != nil {
			t.Fatal(err)
		}
	}
	for last := ""; last != "t199"; {
		select {
		case last = <-seen:
		case <-time.After(soon):
			t.Fatalf("the last that was seen is %q", last)
		}
	}
	stop()
	if err := <-ended; sdk.CodeOf(err) != sdk.CodeCanceled {
		t.Errorf("Watch ends with %v", err)
	}
}
