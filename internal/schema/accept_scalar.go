package schema

import "slices"

func (a *attempt) text(r *rule) bool {
	t, ok := a.cursor.text()
	if !ok || t.runes < r.minLength || t.runes > r.maxLength {
		return false
	}
	size := t.end - t.start
	if a.work -= size / 8; r.scalars == nil && r.pattern == nil {
		return true
	}
	if t.escaped {
		return false
	}
	value := a.data[t.start:t.end]
	if r.scalars != nil && !r.scalars.text(value) {
		return false
	}
	if r.pattern == nil {
		return true
	}
	a.work -= size * r.program / 64
	return a.work >= 0 && r.pattern.Match(value)
}

func (s *scalars) text(value []byte) bool {
	for _, t := range s.texts {
		if t == string(value) {
			return true
		}
	}
	return false
}

// exactDigits is how many decimal digits a float64 keeps apart: two numbers with no more compare as their floats do.
const exactDigits = 15

var powers = [exactDigits + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// number reads a number. Where its value matters it gives up on exponents, on long numbers, and on 1.0 as an integer.
func (a *attempt) number(r *rule) bool {
	n, ok := a.cursor.number()
	if !ok || n.absurd() || !n.whole && !r.allows(kindNumber) {
		return false
	}
	if r.scalars == nil && !r.hasLow && !r.hasHigh {
		return true
	}
	if n.digits > exactDigits || n.scientific {
		return false
	}
	digits := a.mantissa(n)
	if r.scalars != nil && (!n.whole || !slices.Contains(r.scalars.whole, digits)) {
		return false
	}
	return r.within(float64(digits) / powers[n.fraction])
}

// mantissa is the number without its point and exponent.
func (a *attempt) mantissa(n numeral) int64 {
	var v int64
	for _, b := range a.data[n.start:n.end] {
		if b-'0' <= 9 {
			v = v*10 + int64(b-'0')
		}
	}
	if a.data[n.start] == '-' {
		return -v
	}
	return v
}

func (r *rule) within(v float64) bool {
	if r.hasLow && (v < r.low || r.lowOpen && v == r.low) {
		return false
	}
	return !r.hasHigh || v < r.high || v == r.high && !r.highOpen
}
