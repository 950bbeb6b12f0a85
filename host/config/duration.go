package config

import (
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// duration reads a length of time such as "90s", from a millisecond to most; 0 when there is none.
func (f *fields) duration(name string, most time.Duration) time.Duration {
	v, e := f.typed(name, kind{`a length of time such as "30s"`, textKind.is}, func(v cty.Value) string {
		return "write " + name + " = " + durationFor(v)
	})
	if e == nil {
		return 0
	}
	d, problem, hint := parseDuration(v.AsString(), most)
	if problem != "" {
		f.wrong(e.Range(), "%s %s", name, problem).Hint = hint
		return 0
	}
	return d
}

func parseDuration(s string, most time.Duration) (d time.Duration, problem, hint string) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Sprintf("cannot be %q", s), `write a number and its unit, ms, s, m or h, such as "90s" or "2m"`
	case d <= 0:
		return 0, "must be more than zero", "remove it to have the default"
	case d < time.Millisecond || d > most:
		return 0, fmt.Sprintf("must be from 1ms to %s", short(most)), "remove it to have the default"
	}
	return d, "", ""
}

// durationFor shows the length of time that was probably meant by a value of another type.
func durationFor(v cty.Value) string {
	if numberKind.is(v) {
		if n, accuracy := v.AsBigFloat().Int64(); accuracy == 0 {
			return fmt.Sprintf(`"%ds" if you mean seconds`, n)
		}
	}
	return `"30s"; the units are ms, s, m and h`
}

// short is a limit in one unit: "1h", where time.Duration says "1h0m0s".
func short(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}
