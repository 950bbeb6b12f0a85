package sdk

import (
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/toolname"
)

// The checks are those of the expressions that errors show.
func TestNamesAreThoseOfTheirRules(t *testing.T) {
	texts := []string{"", strings.Repeat("a", 32), strings.Repeat("a", 33), "a-b-", "-a", "a_b", "A1", "é", "a\n", "a\x00"}
	for a := range 256 {
		for b := range 256 {
			texts = append(texts, string([]byte{byte(a), byte(b)}))
		}
		texts = append(texts, string([]byte{byte(a)}), string([]byte{'a', '1', byte(a), 'z'}))
	}
	for rule, is := range map[string]func(string) bool{toolname.PluginPattern: toolname.IsPlugin, toolNameRule: isToolName,
		"^[a-z][a-z0-9-]*$": isFormatName} {
		expression := regexp.MustCompile(rule)
		for _, text := range texts {
			if got, want := is(text), expression.MatchString(text); got != want {
				t.Errorf("%q: %t, and %t by %s", text, got, want, rule)
			}
		}
	}
}
