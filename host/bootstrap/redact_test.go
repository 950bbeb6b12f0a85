package bootstrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/config"
)

// The output of plugins, and errors that quote it, reach the log without their secrets.
func TestLogHidesSecrets(t *testing.T) {
	const key = "ghp_0123456789abcdefghijABCDEFGHIJ"
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			o := &slog.HandlerOptions{Level: slog.LevelDebug}
			handler := map[string]slog.Handler{"text": slog.NewTextHandler(&out, o),
				"json": slog.NewJSONHandler(&out, o)}[format]
			r := &redactor{}
			r.add(&config.Config{}, []string{"Project \"Blue\""})
			r.logger(slog.New(handler)).With("token",
				key).WithGroup("plugin").Debug("fetching https://me:hunter22@example.com/x", "password", "open sesame",
				"line", "Authorization: Bearer "+key, "error", errors.New("no such key: "+key),
				"project", `it is Project "Blue" now`, "kept", "words")
			line := out.String()
			for _, secret := range []string{key, "hunter22", "open sesame", "Blue"} {
				if strings.Contains(line, secret) {
					t.Errorf("%q is in the log: %s", secret, line)
				}
			}
			if !strings.Contains(line, "words") || !strings.HasSuffix(line, "\n") || format == "json" &&
				!json.Valid(out.Bytes()) {
				t.Errorf("the rest is not as it was: %q", line)
			}
		})
	}
}
