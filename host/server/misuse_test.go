package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/sdk"
)

// send makes a request as an operator would with curl.
func (s *setup) send(t *testing.T, method, path, kind, body string, headers ...string) (reply, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+operatorToken)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{answer.StatusCode, answer.Header}, string(text)
}

// A reply is what came beside a body.
type reply struct {
	StatusCode int
	Header     http.Header
}

// Whatever a request does wrong, the answer is an error of the API that says what, with a detail that says what to do.
func TestRequestsThatMissTheAPI(t *testing.T) {
	s := new(setup).start(t)
	const host, asJSON = "/toolhost.api.v1.HostService/", "application/json"
	for _, c := range []struct {
		name, method, path, kind, body string
		headers                        []string
		status                         int
		message, hint                  string
	}{
		{"a number for arguments", "POST", host + "CallOnce", asJSON, `{"tool":"p__echo","arguments":3}`, nil, 400,
			"arguments", "a text that holds one"},
		{"a list for arguments", "POST", host + "CallOnce", asJSON, `{"tool":"p__echo","arguments":[1]}`, nil, 400,
			"arguments", "a text that holds one"},
		{"a number for a time", "POST", host + "CallOnce", asJSON, `{"tool":"p__echo","timeout":5}`, nil, 400, "5", `"30s"`},
		{"broken JSON", "POST", host + "CallOnce", asJSON, `{"tool":`, nil, 400, "not valid JSON", "CallRequest"},
		{"a list", "POST", host + "CallOnce", asJSON, `[]`, nil, 400, "not an object", "CallRequest"},
		{"null", "POST", host + "CallOnce", asJSON, `null`, nil, 400, "not an object", "CallRequest"},
		{"nothing", "POST", host + "CallOnce", asJSON, ``, nil, 400, "empty", "CallRequest"},
		{"a misspelt field", "POST", host + "CallOnce", asJSON, `{"tool":"p__echo","argumets":{}}`, nil, 400,
			`unknown field "argumets": there is no such field; did you mean "arguments"?`, "tool, arguments, callId"},
		{"a field of a message without any", "POST", "/toolhost.api.v1.ConfigurationService/Check", asJSON, `{"text":"x"}`, nil,
			400, "no such field", "The fields of CheckConfigurationRequest: none."},
		{"a timeout in words", "POST", host + "CallOnce", asJSON, `{}`, []string{"Connect-Timeout-Ms", "abc"}, 400,
			"the header Connect-Timeout-Ms is not a number of milliseconds", "30000"},
		{"two of one field", "POST", host + "CallOnce", asJSON, `{"tool":"p__echo","arguments":{},"arguments":{}}`, nil, 400,
			"duplicate field", "arguments"},
		{"no kind", "POST", host + "CallOnce", "", `{}`, nil, 415, "no Content-Type", "application/json"},
		{"a form", "POST", host + "CallOnce", "application/x-www-form-urlencoded", `{}`, nil, 415, "x-www-form",
			"application/json"},
		{"another charset", "POST", host + "CallOnce", "application/json; charset=utf-16", `{}`, nil, 415, "utf-16",
			"application/json"},
		{"a stream", "POST", host + "Call", asJSON, `{}`, nil, 415, "Call is not served", "CallOnce"},
		{"another stream", "POST", "/toolhost.api.v1.ApprovalService/Watch", asJSON, `{}`, nil, 415, "Watch is not served",
			"application/connect+json"},
		{"GET", "GET", host + "CallOnce", "", "", nil, 405, "by POST, not GET", "application/json"},
		{"a misspelt method", "POST", host + "CallOne", asJSON, `{}`, nil, 404, `did you mean "HostService/CallOnce"?`,
			"proto"},
		{"a service that is not there", "POST", "/toolhost.api.v1.NoService/X", asJSON, `{}`, nil, 404, "no method", "proto"},
		{"another path", "GET", "/x", "", "", nil, 404, "nothing is served at this path by", "/toolhost.api.v1.HostService/"},
		{"a health check by POST", "POST", "/healthz", asJSON, `{}`, nil, 404, "nothing is served at this path by", "API"},
		{"compressed", "POST", host + "CallOnce", asJSON, `{}`, []string{"Content-Encoding", "gzip"}, 501, "gzip",
			"without compression"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, text := s.send(t, c.method, c.path, c.kind, c.body, c.headers...)
			var read jsonError
			if err := json.Unmarshal([]byte(text), &read); err != nil || len(read.Details) != 1 {
				t.Fatalf("%d: %v: %s", answer.StatusCode, err, text)
			}
			value, err := base64.RawStdEncoding.DecodeString(read.Details[0].Value)
			if err != nil {
				t.Fatal(err)
			}
			var detail apiv1.ErrorDetail
			if err := proto.Unmarshal(value, &detail); err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != c.status || !strings.Contains(read.Message, c.message) || detail.Message != read.Message ||
				!strings.Contains(detail.Hint, c.hint) {
				t.Errorf("%d: %s\nwant %d, %q, %q", answer.StatusCode, text, c.status, c.message, c.hint)
			}
			for _, word := range []string{"apiv1.", "unmarshal", "proto:"} {
				if strings.Contains(text, word) {
					t.Errorf("a word of the library: %s", text)
				}
			}
		})
	}
}

// A stream whose messages have no length before them says what is missing.
func TestStreamsWithoutLengths(t *testing.T) {
	s := new(setup).start(t)
	for body, want := range map[string]string{`{"tool":"p__echo"}`: "larger than configured max", "{}": "incomplete envelope"} {
		_, text := s.send(t, "POST", "/toolhost.api.v1.HostService/Call", "application/connect+json", body)
		if !strings.Contains(text, want) || !strings.Contains(text, "five bytes come before each message") {
			t.Errorf("%s: %s", body, text)
		}
	}
}

// Arguments may be written as an object, whose bytes reach the tool as they are; in a batch, too, and in a stream.
func TestArgumentsAsAnObject(t *testing.T) {
	seen := make(chan string, 1)
	s := &setup{plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){
		"see": func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
			seen <- string(r.Arguments)
			return sdk.Text("seen"), nil
		}}}}
	s.start(t)
	const exact = `{ "n":1.50, "big":12345678901234567890, "text":"\u00e9<&>\"\\" }`
	quoted, err := json.Marshal(exact)
	if err != nil {
		t.Fatal(err)
	}
	var want string
	for name, value := range map[string]string{"text": string(quoted), "object": exact} {
		_, text := s.send(t, "POST", "/toolhost.api.v1.HostService/CallOnce", "application/json; charset=utf-8",
			`{"arguments" : `+value+` , "tool":"p__see"}`)
		if !strings.Contains(text, "seen") {
			t.Fatalf("%s: %s", name, text)
		}
		got := <-seen
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s: the tool sees %s, want %s", name, got, want)
		}
	}
	body := `{"calls":[{"tool":"p__see","arguments":` + exact + `}]}`
	frame := append([]byte{0, 0, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	_, text := s.send(t, "POST", "/toolhost.api.v1.HostService/CallBatch", "application/connect+json", string(frame))
	if !strings.Contains(text, "seen") {
		t.Fatalf("%q", text)
	}
	if got := <-seen; got != want {
		t.Errorf("in a batch the tool sees %s, want %s", got, want)
	}
}

// What the codec writes is what connect's own clients read.
func TestJSONClients(t *testing.T) {
	s := new(setup).start(t)
	c := s.client(operatorToken, connect.WithProtoJSON())
	info, err := c.GetInfo(t.Context(), connect.NewRequest(&apiv1.GetInfoRequest{}))
	if err != nil || info.Msg.Pid == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// Only objects of the fields that hold JSON are quoted, and every other byte stays.
func TestQuoteObjects(t *testing.T) {
	of := (&apiv1.CallRequest{}).ProtoReflect().Descriptor()
	for in, want := range map[string]string{
		`{"arguments":{"a":1}}`:                     `{"arguments":"{\"a\":1}"}`,
		` { "meta" : {} , "arguments":{"a": [ ]}} `: ` { "meta" : "{}" , "arguments":"{\"a\": [ ]}"} `,
		"{\"meta\":{\n\t\"<\u2028\\u0001\":\r1}}":   "{\"meta\":\"{\\n\\t\\\"<\u2028\\\\u0001\\\":\\r1}\"}",
		`{"meta":{}}x`:                              ``,
		`{"arguments":"{}","tool":{"a":1}}`:         `{"arguments":"{}","tool":{"a":1}}`,
		`{"arguments":null}`:                        `{"arguments":null}`,
		`{"arguments":{"a":`:                        ``,
		`[{"arguments":{}}]`:                        `[{"arguments":{}}]`,
	} {
		got, changed, err := new(jsonReader).quoteObjects(of, []byte(in))
		if want == "" && err != nil {
			continue
		}
		if !bytes.Equal(got, []byte(want)) || changed != (in != want) || err != nil {
			t.Errorf("%s gives %s, want %s", in, got, want)
		}
	}
}
