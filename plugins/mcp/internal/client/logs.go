package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// levels are those of log messages, the most talkative first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLevelLimit is how long a call waits for the answer to logging/setLevel.
const setLevelLimit = 5 * time.Second

// raiseLogLevel has a server of the handshake revisions send what a call wants. The level is that of the session: it
// only ever becomes more talkative.
func (s *Session) raiseLogLevel(ctx context.Context, level string) {
	wanted := slices.Index(levels, level)
	if wanted < 0 || s.modern() || !s.Server().Has("logging") {
		return
	}
	s.mu.Lock()
	enough := wanted >= s.level
	s.level = min(s.level, wanted)
	s.mu.Unlock()
	if enough {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, setLevelLimit)
	defer cancel()
	_, _ = s.request(ctx, &call{method: "logging/setLevel", revision: s.Server().Revision},
		append(rawjson.AppendText([]byte(`{"level":`), level), '}')) // a server that refuses sends what it likes
}

// wants reports whether a call wants a log message of this level. Unknown levels are wanted.
func (o *CallOptions) wants(params json.RawMessage) bool {
	if o.Log == nil || o.LogLevel == "" {
		return o.Log != nil
	}
	var level string
	for m := rawjson.MembersOf(params); m.Next(); {
		if string(m.Name) == "level" {
			_ = json.Unmarshal(m.Value, &level)
			break
		}
	}
	at := slices.Index(levels, level)
	return at < 0 || at >= slices.Index(levels, o.LogLevel)
}
