package server

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
)

// allocated is how many bytes f allocates.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// A body of many small things takes few times its size to read, in each encoding.
func TestMemoryOfSmallElements(t *testing.T) {
	const size = 1 << 20
	many := func(begin, one, end string) []byte {
		return []byte(begin + strings.TrimSuffix(strings.Repeat(one, size/len(one)), ",") + end)
	}
	names := func(begin, value, end string) []byte {
		b := []byte(begin)
		for i := 0; len(b) < size; i++ {
			b = fmt.Appendf(b, `"%x":%s,`, i, value)
		}
		return append(b[:len(b)-1], end...)
	}
	field := func(number protowire.Number, value ...byte) []byte {
		one := protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
		return []byte(strings.Repeat(string(one), size/len(one)))
	}
	in := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	const asJSON, asProto = "json", "proto"
	for name, c := range map[string]struct {
		encoding string
		body     []byte
		into     proto.Message
		says     string
	}{
		"unknown field":            {asJSON, many(`{"x":[`, `{"":0},`, `]}`), &apiv1.CallRequest{}, "no such field"},
		"unknown fields":           {asJSON, names(`{`, "0", `}`), &apiv1.CallRequest{}, "no such field"},
		"no JSON":                  {asJSON, many(`{"x":[`, `{"":0},`, `]`), &apiv1.CallRequest{}, "not valid JSON"},
		"nested":                   {asJSON, many(`{"x":`, `[`, ``), &apiv1.CallRequest{}, "not valid JSON"},
		"a list":                   {asJSON, many(`[`, `{},`, `]`), &apiv1.CallRequest{}, "not an object"},
		"calls":                    {asJSON, many(`{"calls":[`, `{},`, `]}`), &apiv1.CallBatchRequest{}, "elements"},
		"calls that are no calls":  {asJSON, many(`{"calls":[`, `0,`, `]}`), &apiv1.CallBatchRequest{}, "elements"},
		"calls that do not end":    {asJSON, many(`{"calls":[`, `{},`, ``), &apiv1.CallBatchRequest{}, "not valid JSON"},
		"answers":                  {asJSON, names(`{"inputResponses":{`, `""`, `}}`), &apiv1.AnswerApprovalRequest{}, "elements"},
		"answers of a call":        {asJSON, names(`{"calls":[{"input_responses":{`, `""`, `}}]}`), &apiv1.CallBatchRequest{}, "elements"},
		"codes":                    {asJSON, many(`{"filter":{"codes":[`, `"",`, `]}}`), &apiv1.SearchCallsRequest{}, "elements"},
		"a list for a text":        {asJSON, many(`{"tool":[`, `0,`, `]}`), &apiv1.CallRequest{}, "invalid value"},
		"a text for a time":        {asJSON, many(`{"timeout":"`, `x`, `"}`), &apiv1.CallRequest{}, "timeout"},
		"an object for a time":     {asJSON, names(`{"timeout":{`, "0", `}}`), &apiv1.CallRequest{}, "timeout"},
		"a long name":              {asJSON, many(`{"`, `x`, `":0}`), &apiv1.CallRequest{}, "unknown field"},
		"arguments":                {asJSON, many(`{"arguments":{"a":[`, `"<",`, `]}}`), &apiv1.CallRequest{}, ""},
		"binary calls":             {asProto, field(1), &apiv1.CallBatchRequest{}, "elements"},
		"binary calls that do not": {asProto, append(field(1), 0xff), &apiv1.CallBatchRequest{}, "elements"},
		"binary answers":           {asProto, field(9), &apiv1.AnswerApprovalRequest{}, "elements"},
		"binary answers of a call": {asProto, in(1, field(9)), &apiv1.CallBatchRequest{}, "elements"},
		"binary codes":             {asProto, in(1, field(6)), &apiv1.SearchCallsRequest{}, "elements"},
		"binary unknown fields":    {asProto, field(1000), &apiv1.CallRequest{}, ""},
		"binary texts":             {asProto, field(1, 'x'), &apiv1.CallRequest{}, ""},
		"binary times":             {asProto, field(5), &apiv1.CallRequest{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			bytes := allocated(func() {
				if c.encoding == asJSON {
					err = jsonCodec.Unmarshal(c.body, c.into)
				} else {
					err = protoCodec.Unmarshal(c.body, c.into)
				}
			})
			if bytes > 16*size {
				t.Errorf("reading %d bytes allocates %d", len(c.body), bytes)
			}
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("the error is %.300v, want %q", err, c.says)
			}
			if err != nil && len(err.Error()) > 4<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// As many elements as are allowed are read.
func TestLimitOfElements(t *testing.T) {
	full := &apiv1.SearchCallsRequest{Filter: &apiv1.CallFilter{Codes: make([]string, maxElements)}}
	asJSON, err := jsonCodec.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := protoCodec.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(m proto.Message) error{
		"JSON":   func(m proto.Message) error { return jsonCodec.Unmarshal(asJSON, m) },
		"binary": func(m proto.Message) error { return protoCodec.Unmarshal(binary, m) },
	} {
		got := &apiv1.SearchCallsRequest{}
		if err := read(got); err != nil || len(got.Filter.Codes) != maxElements {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What needs no token, and what has neither arguments nor answers, is read in small.
func TestLimitsOfBodies(t *testing.T) {
	s := new(setup).start(t)
	const asJSON = "application/json"
	for name, c := range map[string]struct {
		path  string
		size  int
		fits  bool
		token bool
	}{
		"health":            {"/grpc.health.v1.Health/Check", maxOpenBody, true, false},
		"much for health":   {"/grpc.health.v1.Health/Check", maxOpenBody + 1, false, false},
		"health of a token": {"/grpc.health.v1.Health/Check", maxOpenBody + 1, false, true},
		"info":              {apiv1connect.HostServiceGetInfoProcedure, maxSmallBody, true, true},
		"much for info":     {apiv1connect.HostServiceGetInfoProcedure, maxSmallBody + 1, false, true},
		"a call":            {apiv1connect.HostServiceCallOnceProcedure, 1 << 20, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{` + strings.Repeat(" ", c.size-2) + `}`
			header := []string{"Authorization", ""}
			if c.token {
				header = nil
			}
			answer, text := s.send(t, "POST", c.path, asJSON, body, header...)
			if refused := answer.StatusCode == http.StatusTooManyRequests && strings.Contains(text, "resource_exhausted"); refused ==
				c.fits || c.fits && answer.StatusCode != http.StatusOK {
				t.Errorf("%d %s", answer.StatusCode, text)
			}
		})
	}
	s.unharmed()
}
