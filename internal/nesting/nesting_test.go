package nesting

import (
	"strings"
	"testing"
)

// What a tunnel leads to is another host, also with the same configuration; but it is not started below it.
func TestWordsOfAnotherHost(t *testing.T) {
	const config, plugin = "/srv/config.hcl", `plugin "own"`
	Own(config, plugin)
	wordsOf := func(host string) string {
		before := here
		here = func() string { return host }
		defer func() { here = before }()
		return strings.TrimPrefix(Below(nil, config, plugin, false)[0], Var+"=")
	}
	for host, want := range map[string]bool{here(): true, "another": false} {
		words := wordsOf(host)
		if got := IsOwn("0102 " + words); got != want {
			t.Errorf("%s is own: %v, want %v", words, got, want)
		}
		t.Setenv(Var, "0102 "+words)
		if err := Check(config, plugin); err == nil || !strings.Contains(err.Error(), "it runs this toolhost") {
			t.Errorf("below %s: %v", words, err)
		}
		if err := Check(config, `plugin "other"`); err != nil {
			t.Errorf("another plugin below %s: %v", words, err)
		}
	}
}
