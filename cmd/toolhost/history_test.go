package main

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host/api/apiv1"
)

// A time that is printed can be given back, to the second or the nanosecond that it shows.
func TestTimesThatArePrintedAreAccepted(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 24, 16, 14, 47, 123456789, zone)
	second := now.Truncate(time.Second)
	row := historyRow(&apiv1.RecordedCall{Decided: timestamppb.New(now)})
	json := timestamppb.New(now).AsTime().Format(time.RFC3339Nano)
	for text, want := range map[string]time.Time{row[0]: second, json: now,
		"2026-11-24 15:14:47Z": second, "2026-11-24T15:14:47Z": second, "2026-11-24 16:14:47+01:00": second,
		"2026-11-24T15:14Z": second.Truncate(time.Minute), "2026-11-24 15:14Z": second.Truncate(time.Minute),
		"2026-11-24T16:14": second.Truncate(time.Minute), "2026-11-24 16:14:47": second,
		"2026-11-24": time.Date(2026, 11, 24, 0, 0, 0, 0, zone),
		"2h":         now.Add(-2 * time.Hour), "3d": now.AddDate(0, 0, -3), "1w": now.AddDate(0, 0, -7)} {
		if got, err := parseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "-2h", "1x", "w", "-1d", "2026-13-01", "2026-11-24Z"} {
		if got, err := parseTime(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
