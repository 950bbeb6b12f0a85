package lockfile

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A lock file that is made to be slow is answered in a time that grows with its size and not with the square of it, and
// that is not far from what one takes that is right; so are the largest, with all of that in one.
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
		"one line": {func(n int) string { return "plugin \"p\" { args = [" + fill("0,", n) + "] }" },
			"the first 50 are shown"},
		"tools": {func(n int) string {
			return "plugin \"p\" {\n tools = {\n" + numbered("\"t%d\" = \"x\"\n", n) +
				"}\n}"
		}, "the first 50 are shown"},
		"references": {func(n int) string { return "plugin \"p\" {\n args = [\n" + fill("local.a,\n", n) + "]\n}" },
			"plain values only"},
		"open":     {func(n int) string { return fill("plugin \"p\" {\n", n) }, "more than 100 brackets"},
		"comments": {func(n int) string { return fill("#\n", n) }, ""},
		"right":    {func(n int) string { return right(n/2600, 20) }, ""},
	}
	everything := ""
	for name, c := range cases {
		if name != "open" { // which nothing can follow
			everything += c.src(maxSize/8) + "\n"
		}
		t.Run(name, func(t *testing.T) { checkMistakes(t, checkGrowth(t, c.src), c.want) })
	}
	t.Run("everything", func(t *testing.T) { checkMistakes(t, parsed(everything), "the first 50 are shown") })
	t.Run("all of it right", func(t *testing.T) { checkMistakes(t, parsed(right(maxSize/2600, 20)), "") })
}

func parsed(src string) error {
	_, err := parse("l", []byte(src))
	return err
}

func checkMistakes(t *testing.T, err error, want string) {
	t.Helper()
	if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("error %.2000v\nwants %q", err, want)
	}
}

// checkGrowth compares what a lock takes with what an eighth of it takes, and with what a fair one of that size takes,
// and gives its error. What is slow by nature is slow each time.
func checkGrowth(t *testing.T, src func(size int) string) (err error) {
	t.Helper()
	const size = maxSize / 8
	fair, small, large := right(size/8/2600, 20), src(size/8), src(size)
	var tries []string
	for range 5 {
		f, s := work(t, func() { _ = parsed(fair) }), work(t, func() { _ = parsed(small) })
		l := work(t, func() { err = parsed(large) })
		if l < 16*s && l < 8*60*f {
			return err
		}
		tries = append(tries, fmt.Sprintf("%s, an eighth %s, a fair eighth %s", l, s, f))
	}
	t.Fatalf("it took %s", strings.Join(tries, "; "))
	return err
}

// right is a lock of many plugins with many tools each.
func right(plugins, tools int) string {
	var l File
	for i := range plugins {
		p := Plugin{Name: fmt.Sprintf("p%d", i), Program: "x", Level: "confined",
			SHA256: map[string]string{"linux_amd64": ab}, Tools: map[string]string{}}
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

// work is how long the processors were busy with f. The time of day would count what else a busy machine does.
func work(t *testing.T, f func()) time.Duration {
	t.Helper()
	busy := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := busy()
	f()
	return busy() - before
}
