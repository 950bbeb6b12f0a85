package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A lock file of the largest size that is made to be slow is answered soon, and so is a large one that is right.
func TestHostileLocks(t *testing.T) {
	fill := func(line string) string { return strings.Repeat(line, maxLock/len(line)) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < maxLock-200; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	cases := map[string]struct{ src, want string }{
		"attributes":  {numbered("a%d = 1\n"), "the first 50 are shown"},
		"blocks":      {numbered("plugin \"p%d\" {}\n"), "the first 50 are shown"},
		"same blocks": {fill("plugin \"p\" {}\n"), "the first 50 are shown"},
		"one line":    {"plugin \"p\" { args = [" + fill("0,")[:maxLock-100] + "] }", "the first 50 are shown"},
		"tools":       {"plugin \"p\" {\n tools = {\n" + numbered("\"t%d\" = \"x\"\n") + "}\n}", "the first 50 are shown"},
		"references":  {"plugin \"p\" {\n args = [\n" + fill("local.a,\n")[:maxLock-100] + "]\n}", "plain values only"},
		"open":        {fill("plugin \"p\" {\n"), "more than 100 brackets"},
		"comments":    {fill("#\n"), ""},
		"right":       {right(400, 20), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := parseLock("l", []byte(c.src))
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %.2000v\nwants %q", err, c.want)
			}
		})
	}
}

// right is a lock of many plugins with many tools each.
func right(plugins, tools int) string {
	var l Lock
	for i := range plugins {
		p := LockedPlugin{Name: fmt.Sprintf("p%d", i), Program: "x", Level: "confined", SHA256: map[string]string{"linux_amd64": ab}, Tools: map[string]string{}}
		for j := range tools {
			p.Tools[fmt.Sprintf("t%d", j)] = cd
		}
		l.Plugins = append(l.Plugins, p)
	}
	text, err := l.text()
	if err != nil {
		panic(err)
	}
	return string(text)
}
