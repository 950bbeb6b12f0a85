package sdk

import (
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestValuesThatDoNotFit(t *testing.T) {
	for raw, want := range map[string][2]string{
		`{"i":1.5}`:                     {"i: must be a whole number, got 1.5", "Give i a whole number from -9223372036854775808 to 922"},
		`{"i":1e30}`:                    {"i: must be at most 9223372036854775807, got 1e30", "Give i a whole number from"},
		`{"i":99999999999999999999}`:    {"i: must be at most 9223372036854775807, got 99999999999999999999", ""},
		`{"i":-1e999}`:                  {"i: must be at least -9223372036854775808, got -1e999", ""},
		`{"i8":128}`:                    {"i8: must be at most 127, got 128", "Give i8 a whole number from -128 to 127."},
		`{"i8":128.0}`:                  {"i8: must be at most 127, got 128", ""},
		`{"u":-1.0}`:                    {"u: must be at least 0, got -1", "Give u a whole number from 0 to 1844674407370955161"},
		`{"p":"1"}`:                     {"p: must be a whole number, got a string", ""},
		`{"list":[{"x":1},{"y":1.5}]}`:  {"list[1].y: must be a whole number, got 1.5", "Give list[1].y a whole number"},
		`{"list":[{"x":1.0},{"y":[]}]}`: {"list[1].y: must be a whole number, got an array", ""},
		`{"list":{}}`:                   {"list: must be an array, got an object", "Give list an array."},
		`{"map":{"b":1,"a":true}}`:      {"map.a: must be a whole number, got true or false", ""},
		`{"f":1e999}`:                   {"f: must be a number of at most 64 bits, got 1e999", ""},
		`{"raw":[{"i":"i"}],"i":"i"}`:   {"i: must be a whole number, got a string", ""},
		`[1]`:                           {"must be an object, got an array", "Give the value an object."},
	} {
		_, err := decode[numbers](json.RawMessage(raw), "bad")
		e, ok := err.(*Error)
		if !ok || e.Message != "bad: "+want[0] || !strings.HasPrefix(e.Suggestion, want[1]) || e.Suggestion == "" ||
			e.Code != CodeInvalidArgs {
			t.Errorf("%s: %+v, want %q", raw, e, want)
		}
	}
}

// A level decodes itself.
type level struct{ n int }

func (l *level) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &l.n); err != nil {
		return err // with an offset in data
	}
	if l.n > 9 {
		return errors.New("levels end at 9")
	}
	return nil
}

type readers struct {
	When    time.Time            `json:"when"`
	Wait    time.Duration        `json:"wait"`
	Every   *Duration            `json:"every"`
	Blob    []byte               `json:"blob"`
	Addr    netip.Addr           `json:"addr"`
	IP      *net.IP              `json:"ip"`
	Number  json.Number          `json:"number"`
	Level   level                `json:"level"`
	Times   []*time.Time         `json:"times"`
	ByAddr  map[netip.Addr]point `json:"by_addr"`
	ByLevel map[int]level        `json:"by_level"`
	Fixed   [2]int               `json:"fixed"`
	Steps   []OneOf[step]        `json:"steps"`
	Mixed   int
	*Extra
	Self *readers `json:"self"`
}

// Of values of types that decode themselves, or have a form of their own, errors say the same as of others.
func TestValuesThatTypesRefuse(t *testing.T) {
	for raw, want := range map[string][2]string{
		`{"when":"tomorrow"}`: {`when: must be a date and time such as 2006-01-02T15:04:05Z, got "tomorrow"`,
			"Give when a date and time such as 2006-01-02T15:04:05Z."},
		`{"when":5}`:       {"when: must be a date and time such as 2006-01-02T15:04:05Z, got 5", "Give when a date"},
		`{"wait":"1m"}`:    {"wait: must be a whole number of nanoseconds, got a string", "Give wait a whole number of nano"},
		`{"wait":1.5}`:     {"wait: must be a whole number of nanoseconds, got 1.5", "Give wait a whole number of nanoseconds from"},
		`{"every":"soon"}`: {`every: must be a duration such as 1m30s, got "soon"`, "Give every a duration such as 1m30s."},
		`{"every":90}`:     {"every: must be a duration such as 1m30s, got a number", "Give every a duration"},
		`{"blob":"no!"}`:   {`blob: must be bytes as a string in base64, got "no!"`, "Give blob bytes as a string in base64."},
		`{"blob":{}}`:      {"blob: must be bytes as a string in base64, got an object", "Give blob bytes"},
		`{"addr":"1.2"}`: {`addr: must be text that netip.Addr reads, got "1.2": ParseAddr("1.2"): IPv4 address too short`,
			"Give addr text that netip.Addr reads."},
		`{"addr":5}`:     {"addr: must be text that netip.Addr reads, got a number", "Give addr text"},
		`{"ip":"x"}`:     {`ip: must be text that net.IP reads, got "x": invalid IP address: x`, "Give ip text"},
		`{"number":"x"}`: {`number: must be a number, got "x"`, "Give number a number."},
		`{"number":[]}`:  {"number: must be a number, got an array", "Give number a number."},
		`{"level":10}`:   {"level: must be JSON that sdk.level reads, got 10: levels end at 9", "Give level JSON that"},
		`{"blob":"","level":""}`: {`level: must be JSON that sdk.level reads, got "": json: cannot unmarshal string into Go ` +
			`value of type int`, "Give level JSON that"},
		`{"times":["2026-01-31T00:00:00Z",null,"x"]}`: {"times[2]: must be a date and time such as 2006-01-02T15:04:05Z, " +
			`got "x"`, "Give times[2] a date"},
		`{"by_addr":{"::1":{"x":""}}}`: {"by_addr.::1.x: must be a whole number, got a string", "Give by_addr.::1.x a whole"},
		`{"by_addr":{"a":{}}}`: {`by_addr.a: must be a member whose name is text that netip.Addr reads, got "a": ParseAddr` +
			`("a"): unable to parse IP`, "Give by_addr.a a name that is text that netip.Addr reads."},
		`{"by_level":{"-1":3,"x":1}}`: {`by_level.x: must be a member whose name is a whole number, got "x"`, "Give by_le"},
		`{"fixed":[1,"2"]}`:           {"fixed[1]: must be a whole number, got a string", "Give fixed[1] a whole number"},
		`{"fixed":5}`:                 {"fixed: must be an array, got a number", "Give fixed an array."},
		`{"steps":[{"kind":"hop"}]}`:  {`steps[0]: "kind" must be one of jump`, ""},
		`{"mixed":""}`:                {"mixed: must be a whole number, got a string", "Give mixed a whole number"},
		`{"more":[""]}`:               {"more[0]: must be a whole number, got a string", "Give more[0] a whole number"},
		`{"self":{"self":{"when":""}}}`: {"self.self.when: must be a date and time such as 2006-01-02T15:04:05Z, got \"\"",
			"Give self.self.when a date"},
		`{"when":"` + strings.Repeat("x", 500) + `"}`: {"when: must be a date and time such as 2006-01-02T15:04:05Z, got \"" +
			strings.Repeat("x", 99) + "...", "Give when a date"},
	} {
		_, err := decode[readers](json.RawMessage(raw), "bad")
		e, ok := err.(*Error)
		if !ok || e.Message != "bad: "+want[0] || !strings.HasPrefix(e.Suggestion, want[1]) || e.Code != CodeInvalidArgs {
			t.Errorf("%s: %+v, want %q", raw, e, want)
		}
	}
}
