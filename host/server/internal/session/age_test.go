package session

import (
	"testing"
	"time"
)

func TestSessionEndsAfterThirtyDays(t *testing.T) {
	now := time.Now()
	key := newKey(now)
	for age, want := range map[time.Duration]bool{time.Second: true, 29 * 24 * time.Hour: true, 31 * 24 * time.Hour: false,
		-time.Hour: false} {
		if got := fresh(key, now.Add(age)); got != want {
			t.Errorf("after %s the session is valid: %v", age, got)
		}
	}
}
