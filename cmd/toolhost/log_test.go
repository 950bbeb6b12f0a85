package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// What plugins print, and errors that name it, get to the log without the secrets in it.
func TestLogHidesSecrets(t *testing.T) {
	const key = "ghp_0123456789abcdefghijABCDEFGHIJ"
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			g := &globals{logLevel: "debug", logFormat: format, secrets: []string{"Project \"Blue\""}}
			g.err = &out
			g.logger().Debug("fetching https://me:hunter22@example.com/x", "password", "open sesame", "line", "Authorization: Bearer "+key, "error", errors.New("no such key: "+key), "project", `it is Project "Blue" now`, "kept", "words")
			line := out.String()
			for _, secret := range []string{key, "hunter22", "open sesame", "Blue"} {
				if strings.Contains(line, secret) {
					t.Errorf("%q is in the log: %s", secret, line)
				}
			}
			if !strings.Contains(line, "words") || !strings.HasSuffix(line, "\n") || format == "json" && !json.Valid(out.Bytes()) {
				t.Errorf("the rest is not as it was: %q", line)
			}
		})
	}
}
