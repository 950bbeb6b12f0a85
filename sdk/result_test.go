package sdk

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Members without a field are written after those with one, byte for byte and in their order.
func TestContentKeepsExtraMembers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part Content
		want string
	}{
		"text": {Content{Type: "text", Text: "a<b", Extra: json.RawMessage(
			`{"_meta":{"z":1,"a":9007199254740993},"annotations":{"priority":0.10}}`)},
			`{"type":"text","text":"a<b","_meta":{"z":1,"a":9007199254740993},"annotations":{"priority":0.10}}`},
		"a field is not replaced": {Content{Type: "text", Text: "a", Extra: json.RawMessage(`{"text":"b","x":1}`)},
			`{"type":"text","text":"a","x":1}`},
		"link": {Content{Type: "resource_link", URI: "file:///a", Name: "a", Extra: json.RawMessage(`{"size":3}`)},
			`{"type":"resource_link","uri":"file:///a","name":"a","size":3}`},
		"resource": {Content{Type: "resource", URI: "file:///a", Text: "t", Extra: json.RawMessage(
			`{"resource":{"_meta":{"k":1},"uri":"other"},"annotations":{}}`)},
			`{"type":"resource","resource":{"uri":"file:///a","text":"t","_meta":{"k":1}},"annotations":{}}`},
		"no object": {Content{Type: "text", Text: "a", Extra: json.RawMessage(`[1]`)}, `{"type":"text","text":"a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.part.MarshalJSON()
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

// recorder is a request that keeps its events.
func recorder(out *[]string) *Request {
	return &Request{Events: func(e Event) { *out = append(*out, e.Stream+":"+string(e.Data)) }}
}

// write writes and fails the test on an error.
func write(t *testing.T, s io.Writer, text string) {
	t.Helper()
	if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
}

func TestWriterFlushesWithinTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		s := recorder(&got).Writer("stdout")
		write(t, s, "a")
		write(t, s, "b")
		<-time.After(outputDelay)
		synctest.Wait()
		write(t, s, "c")
		<-time.After(outputDelay)
		synctest.Wait()
		if diff := cmp.Diff([]string{"stdout:ab", "stdout:c"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		_ = s.Close()
	})
}

func TestWriterSplitsNoCharacter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		s := recorder(&got).Writer("stdout")
		for _, piece := range []string{"x\xf0", "\x9f\x98", "\x80y\xc3", "\xa4"} {
			write(t, s, piece)
			<-time.After(2 * outputDelay)
			synctest.Wait()
		}
		_ = s.Close()
		if diff := cmp.Diff([]string{"stdout:x", "stdout:😀y", "stdout:ä"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestWriterPassesInvalidUTF8(t *testing.T) {
	var got []string
	s := recorder(&got).Writer("stderr")
	write(t, s, "\xff\xfe\xe3\x81")
	_ = s.Close()
	write(t, s, "late")
	if diff := cmp.Diff([]string{"stderr:\xff\xfe\xe3\x81"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWriterChunks(t *testing.T) {
	var got []string
	s := recorder(&got).Writer("")
	want := strings.Repeat("ä", 40_001) // borders of pieces at odd places
	write(t, s, "x"+want)
	_ = s.Close()
	for i, piece := range got {
		if len(piece)-1 > outputPiece || !utf8.ValidString(piece) {
			t.Errorf("piece %d has %d bytes, valid %v", i, len(piece)-1, utf8.ValidString(piece))
		}
	}
	if joined := strings.ReplaceAll(strings.Join(got, ""), ":", ""); joined != "x"+want {
		t.Errorf("%d bytes came out, %d went in", len(joined), len(want)+1)
	}
}
