package sdk

import (
	"fmt"
	"time"
)

// Duration is a time.Duration that arguments, results and configuration have as a text such as "1m30s" or "250ms".
// A time.Duration itself is a number of nanoseconds in JSON, which models get wrong.
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 1m30s", text)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalText writes the duration as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the text of time.Duration, such as "1m30s".
func (d Duration) String() string { return time.Duration(d).String() }

// durationPattern is the form of a duration, by which hosts refuse other texts before the call, and short enough to be
// read in an error.
const durationPattern = `^-?([0-9.]+(ns|us|µs|ms|s|m|h))+$`
