package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A lock file of the largest size that is made to be slow is answered in a time that grows with its size and not with the
// square of it, and that is not far from what a large one takes that is right.
func TestHostileLocks(t *testing.T) {
	numbered := func(format string, size int) string {
		var b strings.Builder
		for i := 0; b.Len() < size-200; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	fill := func(line string, size int) string { return strings.Repeat(line, (size-200)/len(line)) }
	cases := map[string]struct {
		src  func(size int) string
		want string
	}{
		"attributes":  {func(n int) string { return numbered("a%d = 1\n", n) }, "the first 50 are shown"},
		"blocks":      {func(n int) string { return numbered("plugin \"p%d\" {}\n", n) }, "the first 50 are shown"},
		"same blocks": {func(n int) string { return fill("plugin \"p\" {}\n", n) }, "the first 50 are shown"},
		"one line":    {func(n int) string { return "plugin \"p\" { args = [" + fill("0,", n) + "] }" }, "the first 50 are shown"},
		"tools":       {func(n int) string { return "plugin \"p\" {\n tools = {\n" + numbered("\"t%d\" = \"x\"\n", n) + "}\n}" }, "the first 50 are shown"},
		"references":  {func(n int) string { return "plugin \"p\" {\n args = [\n" + fill("local.a,\n", n) + "]\n}" }, "plain values only"},
		"open":        {func(n int) string { return fill("plugin \"p\" {\n", n) }, "more than 100 brackets"},
		"comments":    {func(n int) string { return fill("#\n", n) }, ""},
		"right":       {func(n int) string { return right(n/2600, 20) }, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checkGrowth(t, c.src(maxLock/64), c.src(maxLock/8), right(maxLock/8/2600, 20)) // before the whole, which may be slow beyond measure
			if _, err := parseLock("l", []byte(c.src(maxLock))); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %.2000v\nwants %q", err, c.want)
			}
		})
	}
}

// checkGrowth compares what a lock takes with what an eighth of it takes, and with a fair one of its size: not with a clock,
// which a busy machine would break. What is slow by nature is slow each time.
func checkGrowth(t *testing.T, small, large, fair string) {
	t.Helper()
	took := func(src string) time.Duration {
		began := time.Now()
		_, _ = parseLock("l", []byte(src))
		return time.Since(began)
	}
	var tries []string
	for range 5 {
		f, s, l := took(fair), took(small), took(large)
		if l < 16*s && l < 60*f {
			return
		}
		tries = append(tries, fmt.Sprintf("%s, an eighth %s, a fair one %s", l, s, f))
	}
	t.Fatalf("it took %s", strings.Join(tries, "; "))
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
