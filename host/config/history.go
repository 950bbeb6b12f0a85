package config

import (
	"time"

	"github.com/toolhost/toolhost/host/internal/hclfile"
)

// History says how much of the record a long-lived host keeps searchable. Zero keeps all.
type History struct {
	KeepFor   time.Duration
	KeepCalls int64
}

// history reads the history block.
func (r *reader) history(top *hclfile.Body) {
	b := top.Block("history")
	if b == nil {
		return
	}
	in := top.Open(b, "history")
	r.config.History = History{KeepFor: time.Duration(in.Int("keep_days", 36_500)) * 24 * time.Hour,
		KeepCalls: int64(in.Int("keep_calls", 1_000_000_000))}
	in.Done()
	if top.Block("audit") == nil {
		top.Wrong(b.DefRange(), "there is a history block and no audit block").WithHint(
			"the history is made from the record, which `audit {}` has kept")
	}
}
