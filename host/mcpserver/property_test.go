package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk"
)

// What is listed can be called, and nothing else can: over standard input and output and HTTP, of both eras, with plain
// and full names, within a filter.
func TestListedMeansCallable(t *testing.T) {
	for seed := range uint64(testutil.Rounds(12)) {
		random := rand.New(rand.NewPCG(seed, 1))
		some := func() (tools []sdk.Tool) {
			for _, name := range []string{"a", "b", "c", "d", strings.Repeat("long_", 9) + "e", strings.Repeat("long_", 9) +
				"f"} {
				if random.IntN(2) == 0 {
					tools = append(tools, readOnly(name))
				}
			}
			return tools
		}
		plugins := map[string]*fake{"p": {tools: some()}, "q": {tools: some()}, "down": {err: errDown}}
		s := setup{plugins: plugins, options: Options{PlainNames: seed%2 == 1}}
		if seed%3 == 0 {
			s.filter = host.Filter{Tools: []string{"p__*", "q__a", "q__long*"}, Exclude: []string{"*__b"}}
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			one, two := s, s
			stdio := one.stdio(t)
			stdio.handshake("2025-06-18", "{}")
			stateful := two.listen(t)
			stateful.handshake()
			stateless := modernWeb(stateful)
			ways := map[string]func(method, params string) reply{
				"stdio": stdio.request, "stateful": stateful.request,
				"modern stdio": func(m, p string) reply { return stdio.request(m, modernParams(p, "{}")) },
				"stateless":    func(m, p string) reply { return stateless.request(m, modernParams(p, "{}")) },
			}
			for way, request := range ways {
				checkListed(t, way, plugins, request)
			}
		})
	}
}

// checkListed calls every name that a tool has, had or might have.
func checkListed(t *testing.T, way string, plugins map[string]*fake, request func(method, params string) reply) {
	t.Helper()
	listed := names(t, request("tools/list", "{}"))
	if !slices.IsSorted(listed) {
		t.Errorf("%s: not in order: %q", way, listed)
	}
	all := append([]string{"", "x", "toolhost__search", "toolhost__call", announcer, "down__a"}, listed...)
	for label, p := range plugins {
		for _, tool := range p.tools {
			all = append(all, tool.Name, label+"__"+tool.Name, label+"__"+strings.ToUpper(tool.Name))
		}
	}
	for _, name := range all {
		r := request("tools/call", fmt.Sprintf(`{"name":%q}`, name))
		if can := r.Error == nil &&
			!strings.Contains(string(r.Result), `"isError":true`); can != slices.Contains(listed, name) {
			t.Errorf("%s: %q is listed: %v, can be called: %v", way, name, !can, can)
		}
		if len("mcp__toolhost__"+name) > maxName && slices.Contains(listed, name) {
			t.Errorf("%s: %q is too long", way, name)
		}
	}
}

// A name is shortened by itself alone, and two of one name are both left out, with both named in the log.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 59)
	n := newNaming("toolhost", false)
	a, b := n.served("p__"+long), n.served("p__"+long[1:]+"y")
	if a == b || len(a) > 49 || !strings.HasPrefix(a, "p__xxxx") || n.served("p__short") != "p__short" {
		t.Errorf("%q, %q", a, b)
	}
	s := &setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("same"), readOnly("one")}},
		"q": {tools: []sdk.Tool{readOnly("Same")}}}, options: Options{PlainNames: true}}
	w := s.stdio(t)
	w.handshake("2025-11-25", "{}")
	if got := names(t, w.request("tools/list", "{}")); !slices.Equal(got, []string{"one"}) {
		t.Errorf("listed %q", got)
	}
	if log := s.log.String(); !strings.Contains(log, "p__same") || !strings.Contains(log, "q__Same") {
		t.Errorf("the log does not name both: %s", log)
	}
}

// The same holds after the tools of a plugin have changed.
func TestListedMeansCallableAfterAChange(t *testing.T) {
	p := &fake{tools: []sdk.Tool{readOnly("a"), readOnly("b")}}
	plugins := map[string]*fake{"p": p}
	w := (&setup{plugins: plugins}).stdio(t)
	w.handshake("2025-11-25", "{}")
	checkListed(t, "before", plugins, w.request)
	p.set(t, readOnly("b"), readOnly("c"))
	eventually(t, "the list has changed", func() bool {
		return slices.Equal(names(t, w.request("tools/list", "{}")), []string{"p__b", "p__c"})
	})
	checkListed(t, "after", plugins, w.request)
	if r := w.request("tools/call", `{"name":"p__a"}`); r.Error == nil {
		t.Errorf("a tool that is gone was called: %s", r.Result)
	}
}

// What an identity sees it can call, and nothing else; who is no identity reaches nothing. Both hold after every change
// of the identities, their tokens and their rights, over sessions and without, and sessions of before are gone.
func TestListedMeansCallableForIdentities(t *testing.T) {
	plugins := map[string]*fake{"p": {tools: []sdk.Tool{readOnly("a"), readOnly("b"), readOnly("c")}}}
	filters := map[string]host.Filter{"all": {}, "few": {Tools: []string{"p__a"}}, "other": {Exclude: []string{"*__a"}}}
	s := &setup{options: Options{Identities: []Identity{{Name: "first", Token: "token-0-0123456789"}}}}
	s.options.Open = func(_ context.Context, who Identity, hooks Hooks) (Backend, error) {
		return (&setup{plugins: plugins, filter: filters[who.Rights]}).open(hooks)
	}
	server := s.server(t)
	base := listenFor(t, server)
	random := rand.New(rand.NewPCG(1, 2))
	type client struct {
		*web
		who Identity
	}
	var open []client // with sessions
	for range testutil.Rounds(30) {
		next := map[string]Identity{}
		for i := range 4 { // few tokens, so that they go from one to another
			token := fmt.Sprintf("token-%d-0123456789", i)
			name := []string{"ann", "bob", "eve"}[random.IntN(3)]
			if random.IntN(2) == 0 && next[name].Token == "" {
				next[name] = Identity{name, token, []string{"all", "few", "other"}[random.IntN(3)]}
			}
		}
		all := slices.Collect(maps.Values(next))
		if err := server.SetIdentities(all); err != nil {
			t.Fatal(err)
		}
		open = slices.DeleteFunc(open, func(c client) bool {
			got := c.status(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if want := next[c.who.Name] == c.who; want != (got == http.StatusOK) {
				t.Errorf("%+v of %+v: a session that was open: %d", c.who, all, got)
			}
			return got != http.StatusOK
		})
		for i := range 4 {
			c := *base
			c.token = fmt.Sprintf("token-%d-0123456789", i)
			who := slices.IndexFunc(all, func(i Identity) bool { return i.Token == c.token })
			if who < 0 {
				if got := c.status(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); got != http.StatusUnauthorized {
					t.Errorf("%s of %+v: %d", c.token, all, got)
				}
				continue
			}
			c.handshake()
			open = append(open, client{&c, all[who]})
			checkListed(t, fmt.Sprintf("session of %+v", all[who]), plugins, c.request)
			m := modernWeb(&c)
			checkListed(t, fmt.Sprintf("%+v", all[who]), plugins, func(method, params string) reply {
				return m.request(method, modernParams(params, "{}"))
			})
			listed := names(t, c.request("tools/list", "{}"))
			if want := map[string]int{"all": 3, "few": 1, "other": 2}[all[who].Rights]; len(listed) != want {
				t.Errorf("%+v sees %q", all[who], listed)
			}
		}
	}
}
