package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// numberedLines is a text of lines "1", "2", ... that all end with a newline.
func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

const crNote = "[line endings are CR alone, shown as LF; by number all of them are one line]"

func TestRead(t *testing.T) {
	long := strings.Repeat("é", maxLineChars)
	tests := []struct {
		name, content, arguments string
		text, notes              string // the two content parts; "" is for none
		first, last, total       int
		truncated                bool
		encoding                 string
	}{
		{"all", "a\nb\n", ``, "a\nb\n", "", 1, 2, 2, false, ""},
		{"no final newline", "a\nb", ``, "a\nb", "", 1, 2, 2, false, ""},
		{"only a newline", "\n", ``, "\n", "", 1, 1, 1, false, ""},
		{"empty", "", ``, "", "[the file is empty]", 1, 0, 0, false, ""},
		{"empty, from line 1", "", `"start_line":1`, "", "[the file is empty]", 1, 0, 0, false, ""},
		{"a range", numberedLines(9), `"start_line":3,"end_line":5`, "3\n4\n5\n",
			"[lines 3-5 of 9; continue with start_line=6]", 3, 5, 9, false, ""},
		{"the first line", numberedLines(9), `"start_line":1,"end_line":1`, "1\n",
			"[lines 1-1 of 9; continue with start_line=2]", 1, 1, 9, false, ""},
		{"from a line on", numberedLines(9), `"start_line":8`, "8\n9\n", "[lines 8-9 of 9]", 8, 9, 9, false, ""},
		{"past the end", numberedLines(9), `"start_line":8,"end_line":50`, "8\n9\n", "[lines 8-9 of 9]", 8, 9, 9, false, ""},
		{"all by its numbers", numberedLines(9), `"start_line":1,"end_line":9`, numberedLines(9), "", 1, 9, 9, false, ""},
		{"as many lines as fit", numberedLines(2000), ``, numberedLines(2000), "", 1, 2000, 2000, false, ""},
		{"one line more", numberedLines(2001), ``, numberedLines(2000),
			"[lines 1-2000 of 2001; continue with start_line=2001]", 1, 2000, 2001, true, ""},
		{"many lines asked for", numberedLines(2500), `"end_line":2400`, numberedLines(2400),
			"[lines 1-2400 of 2500; continue with start_line=2401]", 1, 2400, 2500, false, ""},
		{"as many bytes as fit", "1234\n6789\n", `"max_bytes":10`, "1234\n6789\n", "", 1, 2, 2, false, ""},
		{"one byte less", "1234\n6789\n", `"max_bytes":9`, "1234\n",
			"[lines 1-1 of 2, cut at 9 bytes; continue with start_line=2]", 1, 1, 2, true, ""},
		{"first line too large", "123456789\nb\n", `"max_bytes":4`, "1234",
			"[line 1 of 2 has 10 bytes, the first 4 are shown; raise max_bytes (up to 1048576); continue with start_line=2]", 1,
			1, 2, true, ""},
		{"only line too large", "1234é6789", `"max_bytes":5`, "1234",
			"[line 1 of 1 has 10 bytes, the first 4 are shown; raise max_bytes (up to 1048576)]", 1, 1, 1, true, ""},
		{"a later first line", "a\n123456789", `"max_bytes":4,"start_line":2`, "1234",
			"[line 2 of 2 has 9 bytes, the first 4 are shown; raise max_bytes (up to 1048576)]", 2, 2, 2, true, ""},
		{"nothing fits behind a cut", "éé\n\nb", `"max_bytes":3`, "é",
			"[line 1 of 3 has 5 bytes, the first 2 are shown; raise max_bytes (up to 1048576); continue with start_line=2]", 1,
			1, 3, true, ""},
		{"a line as long as may be", long + "\nb\n", ``, long + "\nb\n", "", 1, 2, 2, false, ""},
		{"crlf behind as many characters as fit", long + "\r\nb\r\n", ``, long + "\nb\n",
			"[line endings are CRLF, shown as LF]", 1, 2, 2, false, ""},
		{"one character longer", long + "x\nb\n", ``, long + "\nb\n",
			"[cut at 2000 characters: line 1 (4002 bytes); for the whole of it read it alone: start_line=1, end_line=1]", 1, 2,
			2, true, ""},
		{"wide characters", strings.Repeat("🙂", 2001), ``, strings.Repeat("🙂", 2000) + "\n",
			"[cut at 2000 characters: line 1 (8004 bytes); for the whole of it read it alone: start_line=1, end_line=1]", 1, 1,
			1, true, ""},
		{"a very long line", strings.Repeat("é", 100_000), ``, long + "\n",
			"[cut at 2000 characters: line 1 (200000 bytes); for the whole of it read it alone: start_line=1, end_line=1, " +
				"max_bytes=1048576]", 1, 1, 1, true, ""},
		{"a line longer than can be read", strings.Repeat("é", 1_000_000), ``, long + "\n",
			"[cut at 2000 characters: line 1 (2000000 bytes); for its first 1048576 bytes read it alone: start_line=1, " +
				"end_line=1, max_bytes=1048576]", 1, 1, 1, true, ""},
		{"a long line alone", "a\n" + long + "x\nb\n", `"start_line":2,"end_line":2`, long + "x\n",
			"[lines 2-2 of 3; continue with start_line=3]", 2, 2, 3, false, ""},
		{"long lines", strings.Repeat(long+"x\n", 7), ``, strings.Repeat(long+"\n", 7),
			"[cut at 2000 characters: lines 1, 2, 3, 4, 5 and 2 more (4002 bytes); for the whole of it read it alone: " +
				"start_line=1, end_line=1]", 1, 7, 7, true, ""},
		{"crlf", "a\r\nb\r\n", ``, "a\nb\n", "[line endings are CRLF, shown as LF]", 1, 2, 2, false, ""},
		{"crlf and a long line", "a\r\n" + long + "x\r\nb", ``, "a\n" + long + "\nb",
			"[cut at 2000 characters: line 2 (4003 bytes); for the whole of it read it alone: start_line=2, end_line=2]\n" +
				"[line endings are CRLF, shown as LF]", 1, 3, 3, true, ""},
		{"mixed endings", "a\r\nb\nc\n", ``, "a\r\nb\nc\n",
			"[mixed line endings, shown as they are: 1 of these 3 lines end with CRLF]", 1, 3, 3, false, ""},
		{"a CR in a line", "a\rb\n", ``, "a\rb\n", "[1 CR character without LF, no line ending, shown unchanged]", 1, 1, 1,
			false, ""},
		{"CR beside CRLF", "a\r\r\nb\rc\r\n", ``, "a\r\nb\rc\n", "[line endings are CRLF, shown as LF]\n" +
			"[2 CR characters without LF, no line ending, shown unchanged]", 1, 2, 2, false, ""},
		{"all three endings", "a\rb\nc\r\n", ``, "a\rb\nc\r\n",
			"[mixed line endings, shown as they are: 1 of these 2 lines end with CRLF]\n" +
				"[1 CR character without LF, no line ending, shown unchanged]", 1, 2, 2, false, ""},
		{"CR alone", "a\rb\r", ``, "a\nb\n", crNote, 1, 1, 1, false, ""},
		{"CR alone, no end", "a\rb", `"line_numbers":true`, "     1\ta\nb", crNote, 1, 1, 1, false, ""},
		{"CR alone, from the end", "a\rb\r", `"tail":1`, "a\nb\n", crNote, 1, 1, 1, false, ""},
		{"CR alone, utf-16", "\xFF\xFEa\x00\r\x00b\x00", ``, "a\nb", "[decoded from utf-16le]\n" + crNote, 1, 1, 1, false,
			"utf-16le"},
		{"CR alone, cut", strings.Repeat("a\r", 2000), ``, strings.Repeat("a\n", 1000) + "\n",
			"[cut at 2000 characters: line 1 (4000 bytes); for the whole of it read it alone: start_line=1, end_line=1]\n" +
				crNote, 1, 1, 1, true, ""},
		{"CR in the first line", "a\rb\nc\n", `"end_line":1`, "a\rb\n",
			"[lines 1-1 of 2; continue with start_line=2]\n[1 CR character without LF, no line ending, shown unchanged]", 1, 1,
			2, false, ""},
		{"cut in a CRLF", "abc\r\nd\r\n", `"max_bytes":4`, "abc\r",
			"[line 1 of 2 has 5 bytes, the first 4 are shown; raise max_bytes (up to 1048576); continue with start_line=2]", 1, 1,
			2, true, ""},
		{"byte order mark", "\xEF\xBB\xBFa\n", ``, "a\n",
			"[the file starts with a UTF-8 byte order mark, which is not shown]", 1, 1, 1, false, ""},
		{"nothing but a mark", "\xEF\xBB\xBF", ``, "",
			"[the file is empty]\n[the file starts with a UTF-8 byte order mark, which is not shown]", 1, 0, 0, false, ""},
		{"utf-16 le", "\xFF\xFEa\x00\n\x00\x3D\xD8\x42\xDE", ``, "a\n🙂", "[decoded from utf-16le]", 1, 2, 2, false,
			"utf-16le"},
		{"utf-16 be", "\xFE\xFF\x00a\x00\n\xD8\x3D\xDE\x42", ``, "a\n🙂", "[decoded from utf-16be]", 1, 2, 2, false,
			"utf-16be"},
		{"broken utf-16", "\xFF\xFEa\x00\x3D\xD8b\x00\x42\xDEc", ``, "a\uFFFDb\uFFFD\uFFFD", "[decoded from utf-16le]", 1, 1,
			1, false, "utf-16le"},
		{"half a pair at the end", "\xFF\xFEa\x00\x3D\xD8", ``, "a\uFFFD", "[decoded from utf-16le]", 1, 1, 1, false,
			"utf-16le"},
		{"invalid bytes", "gr\xFCn éé\nblau\nweiß\xDF\n", ``, "gr\uFFFDn éé\nblau\nweiß\uFFFD\n",
			"[not UTF-8, invalid bytes shown as U+FFFD: lines 1, 3]", 1, 3, 3, false, ""},
		{"invalid bytes on lines not shown", "a\nb\nweißé\xDF\n", `"end_line":1`, "a\n",
			"[lines 1-1 of 3; continue with start_line=2]", 1, 1, 3, false, ""},
		{"a NUL far behind", strings.Repeat("a\n", 5000) + "\x00\n", `"start_line":5001`, "\x00\n",
			"[lines 5001-5001 of 5001]", 5001, 5001, 5001, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "dir/file", test.content)
			etag := workspace.Etag([]byte(test.content))
			arguments := `{"path":"dir/file"}`
			if test.arguments != "" {
				arguments = `{"path":"dir/file",` + test.arguments + `}`
			}
			result := f.run(t, "read", "%s", arguments)
			notes := strings.TrimPrefix(test.notes+"\n[etag "+etag+"]", "\n")
			want := []sdk.Content{sdk.TextContent(notes)}
			if test.text != "" {
				want = append([]sdk.Content{sdk.TextContent(test.text)}, want...)
				if !strings.HasSuffix(test.text, "\n") {
					want[1].Text = "\n" + notes
				}
			}
			if diff := cmp.Diff(want, result.Content); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			out := readOutput{Path: "dir/file", StartLine: test.first, EndLine: test.last, TotalLines: &test.total,
				Bytes: len(test.text), Etag: etag, Truncated: test.truncated}
			out.Encoding = test.encoding
			if diff := cmp.Diff(out, structured[readOutput](t, result)); diff != "" || result.Truncated != test.truncated {
				t.Errorf("structured (-want +got), truncated %v:\n%s", result.Truncated, diff)
			}
		})
	}
}

func TestReadFailures(t *testing.T) {
	f := start(t, "nine", numberedLines(9), "empty", "", "nul", "a\x00b", "far nul", strings.Repeat("a", sniffed-1)+"\x00",
		"noise", strings.Repeat("\xB0\x01\xB3\x02 ", 50),
		"pdf", "%PDF-1.7\n%\xE2\xE3\xCF\xD3\n\x01", "program", "\x7FELF\x02\x01\x01\x00\x00", "zip", "PK\x03\x04\x14\x00\x00",
		"utf16 of zeros", "\xFF\xFE\x00\x00\x00\x00\x00\x00", "large.png", "\x89PNG\r\n\x1a\n"+
			strings.Repeat("\x00", maxImage))
	f.Plugin = f.Unchecked()
	tests := []struct{ name, arguments, want, message string }{
		{"past the end", `{"path":"nine","start_line":10}`, "LineOutOfRange", "has 9 lines"},
		{"past an empty file", `{"path":"empty","start_line":2}`, "LineOutOfRange", "has 0 lines"},
		{"backwards", `{"path":"nine","start_line":5,"end_line":4}`, "InvalidArguments",
			"end_line 4 lies before start_line 5"},
		{"negative", `{"path":"nine","start_line":-1}`, "InvalidArguments", "must be positive"},
		{"too much", `{"path":"nine","max_bytes":1048577}`, "InvalidArguments", "at most 1048576"},
		{"unknown argument", `{"path":"nine","line":1}`, "InvalidArguments", "line"},
		{"nul", `{"path":"nul"}`, "BinaryFile", "3 bytes, by its looks application/octet-stream"},
		{"nul at the end of what is looked at", `{"path":"far nul"}`, "BinaryFile", "is not text"},
		{"control characters", `{"path":"noise"}`, "BinaryFile", "many control characters"},
		{"program", `{"path":"program"}`, "BinaryFile", "9 bytes"},
		{"known by its looks", `{"path":"pdf"}`, "BinaryFile", "application/pdf"},
		{"archive", `{"path":"zip"}`, "BinaryFile", "application/zip"},
		{"zeros", `{"path":"utf16 of zeros"}`, "BinaryFile", "is not"},
		{"large image", `{"path":"large.png"}`, "BinaryFile", "at most 3145728"},
		{"nothing", `{"path":"nothing"}`, "FileNotFound", "nothing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			contains(t, f.fails(t, test.want, "read", "%s", test.arguments).Message, test.message)
		})
	}
	e := f.fails(t, "LineOutOfRange", "read", `{"path":"nine","start_line":10}`)
	contains(t, string(e.Details), `"total_lines":9`)
}

func TestImages(t *testing.T) {
	picture := image.NewPaletted(image.Rect(0, 0, 8, 8), color.Palette{color.Black})
	var asJPEG, asGIF bytes.Buffer
	check(t, jpeg.Encode(&asJPEG, picture, nil))
	check(t, gif.Encode(&asGIF, picture, nil))
	images := []struct{ data, mimeType string }{
		{testutil.PNG(0), "image/png"}, {testutil.PNG(maxImage), "image/png"}, {asJPEG.String(), "image/jpeg"},
		{asGIF.String(), "image/gif"},
		{"RIFF\x16\x00\x00\x00WEBPVP8L\x0A\x00\x00\x00\x2F\x07\xC0\x01\x00\x00\x00\x00\x00\x00", "image/webp"},
	}
	for _, image := range images {
		f := start(t, "picture", image.data)
		result := f.run(t, "read", `{"path":"picture"}`)
		want := []sdk.Content{sdk.ImageContent([]byte(image.data), image.mimeType),
			sdk.TextContent(fmt.Sprintf("[%s, %d bytes]", image.mimeType, len(image.data)))}
		if diff := cmp.Diff(want, result.Content, cmp.Comparer(bytes.Equal)); diff != "" {
			t.Errorf("%s (-want +got):\n%.1000s", image.mimeType, diff)
		}
		out := readOutput{Path: "picture", Bytes: len(image.data), MIMEType: image.mimeType}
		if diff := cmp.Diff(out, structured[readOutput](t, result)); diff != "" {
			t.Error(diff)
		}
		f.put(t, "cut", image.data[:len(image.data)/2])
		contains(t, f.fails(t, "BinaryFile", "read", `{"path":"cut"}`).Message, "cannot be shown: it ends too early")
	}
}

// The line behind those that are asked for is not read: it may be as long as the file.
func TestTheNextLineIsNotRead(t *testing.T) {
	e := excerpt{window: window{first: 1, last: 2, bytes: 100, chars: 100}}
	endless := io.MultiReader(strings.NewReader("a\nb\n"), strings.NewReader(strings.Repeat("x", 1<<20)),
		iotest.ErrReader(errors.New("read on")))
	if err := e.read(bufio.NewReader(endless)); err != nil || string(e.text) != "a\nb\n" || !e.more || e.total != -1 {
		t.Errorf("%q, more %t, %d lines; %v", e.text, e.more, e.total, err)
	}
	e = excerpt{window: window{first: 1, last: 2, bytes: 100, chars: 100}}
	if err := e.read(bufio.NewReader(strings.NewReader("a\nb\n"))); err != nil || e.more || e.total != 2 {
		t.Errorf("at the end: more %t, %d lines; %v", e.more, e.total, err)
	}
}

// A file without blocks on disk is as long to read as one with.
func sparse(t *testing.T, f *fixture, name, head string, size int64) {
	t.Helper()
	f.put(t, name, head)
	check(t, os.Truncate(filepath.Join(f.dir, name), size))
}

func TestHugeFiles(t *testing.T) {
	f := start(t)
	sparse(t, f, "huge", numberedLines(10_000), 1<<36)
	result := f.run(t, "read", `{"path":"huge","start_line":5000,"end_line":5001}`)
	want := []sdk.Content{sdk.TextContent("5000\n5001\n"),
		sdk.TextContent("[lines 5000-5001 of a file too large to count; continue with start_line=5002]")}
	if diff := cmp.Diff(want, result.Content); diff != "" {
		t.Error(diff)
	}
	if out := structured[readOutput](t, result); out.TotalLines != nil {
		t.Errorf("counted %d lines", *out.TotalLines)
	}
	sparse(t, f, "large", numberedLines(10_000)+"\n", countUpTo)
	if out := structured[readOutput](t, f.run(t, "read", `{"path":"large","end_line":1}`)); out.TotalLines == nil ||
		*out.TotalLines != 10_002 {
		t.Errorf("lines of a file that is just small enough to count: %v", out.TotalLines)
	}
}

func TestEndOfACallEndsTheRead(t *testing.T) {
	f := start(t)
	sparse(t, f, "huge", numberedLines(10_000), 1<<36) // hours to read
	ctx, cancel := context.WithCancel(t.Context())
	file, err := os.Open(filepath.Join(f.dir, "huge"))
	check(t, err)
	defer func() { _ = file.Close() }()
	blocks := 0
	in := readerFunc(func(b []byte) (int, error) {
		if blocks++; blocks == 20 {
			cancel()
		}
		return file.Read(b)
	})
	text, err := decode(&source{ctx: ctx, in: in}, 1<<36, textEncoding{})
	check(t, err)
	e := excerpt{window: window{first: 20_000, last: 20_001, bytes: 10, chars: 10}}
	if err := e.read(text.in); err != context.Canceled || blocks != 20 {
		t.Errorf("after %d blocks: %v", blocks, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// Whatever the bytes and the limits, reading on from where each read says gives each line once.
func FuzzRead(f *testing.F) {
	f.Add([]byte("a\nb\nc"), 2)
	f.Add([]byte("\xEF\xBB\xBFa\r\nb\r\n"), 100)
	f.Add([]byte("\xFF\xFEa\x00\n\x00"), 1)
	f.Add([]byte("é\xFFé\n\n\n"), 3)
	f.Fuzz(func(t *testing.T, content []byte, limit int) {
		limit = 1 + max(limit, -limit-1)%64
		var text []byte
		for first := 1; ; {
			in, err := decode(bytes.NewReader(content), int64(len(content)), textEncoding{})
			if err != nil {
				t.Fatal(err)
			}
			e := excerpt{window: window{first: first, last: first + 1, bytes: limit, chars: maxLineChars}, countRest: true}
			if err := e.read(in.in); err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(e.text) || len(e.text) > limit {
				t.Fatalf("gave %q for a limit of %d", e.text, limit)
			}
			text = append(text, e.text...)
			if e.cut > 0 {
				return // the rest of this line is not to be had
			}
			if !e.more {
				break
			}
			first = e.lastShown() + 1
		}
		in, _ := decode(bytes.NewReader(content), int64(len(content)), textEncoding{})
		whole := excerpt{window: window{first: 1, last: 1 << 30, bytes: 1 << 30, chars: maxLineChars}, countRest: true}
		if err := whole.read(in.in); err != nil || !bytes.Equal(text, whole.text) {
			t.Fatalf("read %q in parts, %q at once (%v)", text, whole.text, err)
		}
	})
}
