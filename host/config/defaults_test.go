package config

import (
	"strings"
	"testing"
	"time"
)

func TestDefaults(t *testing.T) {
	c, err := Parse("config.hcl",
		[]byte("max_cost_tier = \"cheap\"\ndefault_timeout = \"30s\"\nmax_result_bytes = 4096\nerror_message_limit = "+
			"500\nmax_concurrency = 64\n"))
	if err != nil {
		t.Fatal(err)
	}
	if h := c.Host; h.MaxCostTier != "cheap" || h.DefaultTimeout != 30*time.Second || h.MaxResultBytes != 4096 ||
		h.ErrorMessageLimit != 500 || h.MaxConcurrency != 64 || h.WithoutFloor {
		t.Errorf("%+v", h)
	}
	for _, wrong := range []string{`max_cost_tier = "dear"`, `default_timeout = "2h"`, `max_result_bytes = 0`,
		`error_message_limit = "long"`, `max_concurrency = 10001`} {
		name, _, _ := strings.Cut(wrong, " ")
		if _, err := Parse("config.hcl", []byte(wrong)); err == nil || !strings.Contains(err.Error(), "config.hcl:1") ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
