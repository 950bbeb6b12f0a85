package sdk

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

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
