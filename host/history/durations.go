package history

import (
	"math/bits"
	"strconv"
	"time"
)

// Durations fall into classes, eight for each doubling, so that the borders of a class are at most an eighth apart.
// Plots count by classes; a search for long calls asks for classes, and looks at the calls of the lowest one by one.

// classOf returns the class of a duration in microseconds.
func classOf(took int64) int {
	if took < 16 {
		return int(max(took, 0))
	}
	shift := bits.Len64(uint64(took)) - 4
	return shift*8 + int(took>>shift)
}

// classStart is the shortest duration of a class.
func classStart(class int) int64 {
	if class < 16 {
		return int64(class)
	}
	shift := class/8 - 1
	return int64(class-shift*8) << shift
}

// classMiddle stands for all durations of a class: it is at most a sixteenth away from each.
func classMiddle(class int) time.Duration {
	middle := float64(classStart(class)+classStart(class+1)-1) / 2
	return time.Duration(middle * float64(time.Microsecond))
}

// durationTokens are a call's: its class, and two groups of classes, so that a search names few of them.
func (w *wordWriter) durationTokens(took int64) {
	class := classOf(took)
	for level := range 3 {
		w.text = append(w.text, durationToken(level, class>>(3*level))...)
		w.text = append(w.text, ' ')
	}
}

func durationToken(level, class int) string {
	return string(fieldToken+rune(fieldDuration)) + string(rune('a'+level)) + strconv.Itoa(class)
}

// lastClass is that of the longest duration that a call has; see milliseconds.
var lastClass = classOf(int64(365 * 24 * time.Hour / time.Microsecond))

// longer returns tokens, one of which a call of a higher class has.
func longer(class int) (out []string) {
	for level, c := 0, class; level < 3; level++ {
		next, last := c+1, c|7
		if level == 2 {
			last = lastClass >> (3 * level)
		}
		for ; next <= last; next++ {
			out = append(out, durationToken(level, next))
		}
		c >>= 3
	}
	return out
}
