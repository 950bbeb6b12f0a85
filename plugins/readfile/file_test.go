package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

func TestEtag(t *testing.T) {
	f := start(t)
	for _, content := range []string{"", "a", "a\r\nb", "\xEF\xBB\xBFa\n", "\xFF\xFEa\x00", "gr\xFCn",
		numberedLines(500_000)} {
		f.put(t, "file", content)
		for _, arguments := range []string{`{"path":"file"}`, `{"path":"file","end_line":1}`, `{"path":"file","max_bytes":1}`,
			`{"path":"file","tail":1}`} {
			if got := structured[readOutput](t, f.run(t, "read", "%s", arguments)).Etag; got != workspace.Etag([]byte(content)) {
				t.Errorf("%s gives the etag %q for %.20q", arguments, got, content)
			}
		}
	}
}

func TestNoEtagOfAPart(t *testing.T) {
	f := start(t)
	sparse(t, f, "huge", "a\n"+strings.Repeat(" ", sniffed), countUpTo+1)
	r := f.run(t, "read", `{"path":"huge","end_line":1}`)
	if out := structured[readOutput](t, r); out.Etag != "" || out.TotalLines != nil || strings.Contains(text(r), "etag") {
		t.Errorf("read %q, %s", text(r), r.Structured)
	}
}

// A file that grows while it is read ends where it ended at first.
func TestSourceEndsWhereTheFileDid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	check(t, os.WriteFile(path, []byte("first\n"), 0o644))
	f, err := os.Open(path)
	check(t, err)
	defer func() { _ = f.Close() }()
	s := newSource(t.Context(), f, 6)
	check(t, os.WriteFile(path, []byte("first\nsecond\n"), 0o644))
	data, err := io.ReadAll(s)
	if err != nil || string(data) != "first\n" || s.etag() != workspace.Etag(data) {
		t.Errorf("read %q (%v), etag %s", data, err, s.etag())
	}
}

// A read that waits, as some files of the system do, ends with the call.
func TestEndOfTheCallWakesAReadThatWaits(t *testing.T) {
	in, out, err := os.Pipe()
	check(t, err)
	defer func() { _ = out.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer closeWith(ctx, in)()
	s, ended := newSource(ctx, in, 0), make(chan error, 1)
	go func() {
		_, err := s.Read(make([]byte, 1))
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the read ended with %v", err)
	}
	if s.etag() != "" {
		t.Error("there is an etag of what was not read")
	}
}

// What a request leaves out is not found by any tool that walks, by whatever way it comes there.
func TestLeftOutPaths(t *testing.T) {
	f := start(t, "a.txt", "needle\n", "private/x.txt", "needle\n", "private/deep/y.txt", "needle\n", "src/b.key.txt",
		"needle\n", "src/c.txt", "needle\n")
	check(t, os.Symlink("private", filepath.Join(f.dir, "alias")))
	leaveOut := []string{"private", "src/b.key.txt"}
	for _, c := range []struct{ tool, arguments string }{
		{"grep", `{"pattern":"needle"}`}, {"grep", `{"pattern":"needle","hidden":true,"ignored":true}`},
		{"grep", `{"pattern":"needle","include":"private/**"}`},
		{"glob", `{"pattern":"**/*.txt"}`}, {"glob", `{"pattern":"private/*"}`}, {"glob", `{"pattern":"private/deep/y*"}`},
		{"glob", `{"pattern":"alias/*"}`},
		{"list", `{"depth":9}`}, {"list", `{"path":"src"}`}, {"glob", `{"path":"src","pattern":"*"}`},
		{"grep", `{"path":"src","pattern":"needle"}`},
	} {
		r, err := f.Call(t.Context(),
			&sdk.Request{CallID: rand.Text(), Tool: c.tool, Arguments: []byte(c.arguments), Workdir: f.dir, LeaveOut: leaveOut})
		check(t, err)
		text := r.Content[0].Text
		for _, name := range []string{"x.txt", "y.txt", "b.key"} {
			if strings.Contains(text, name) {
				t.Errorf("%s %s shows %s:\n%s", c.tool, c.arguments, name, text)
			}
		}
		if !strings.Contains(text, "left out") {
			t.Errorf("%s %s does not say that something is left out:\n%s", c.tool, c.arguments, text)
		}
	}
}

// A root is read by absolute paths, keeps what links lead out of it, and has no secrets that the work folder's settings
// allow.
func TestRootsAreRead(t *testing.T) {
	f := start(t, "a.txt", "here\n")
	other := start(t, "b.txt", "there\n", "sub/c.txt", "there\n", ".env", "A=1\n", "cfg/test.pem", "k\n")
	outside := start(t, "d.txt", "away\n")
	check(t, os.Symlink(outside.dir, filepath.Join(other.dir, "out")))
	f.MustConfigure(t, `{"allow_secrets":["cfg/test.pem","**/.env"]}`)
	run := func(tool, arguments string) *sdk.Result {
		t.Helper()
		r, err := f.Call(t.Context(),
			&sdk.Request{CallID: rand.Text(), Tool: tool, Arguments: []byte(strings.ReplaceAll(arguments, "ROOT", other.dir)),
				Workdir: f.dir, Roots: []string{other.dir}})
		check(t, err)
		return r
	}
	for _, c := range []struct{ tool, arguments, want string }{
		{"read", `{"path":"ROOT/b.txt"}`, "there"}, {"read", `{"paths":["a.txt","ROOT/sub/c.txt"]}`, "ROOT/sub/c.txt"},
		{"grep", `{"pattern":"there","path":"ROOT"}`, "ROOT/sub/c.txt:1:there"},
		{"list", `{"path":"ROOT","depth":2}`, "ROOT/sub/c.txt"},
		{"glob", `{"path":"ROOT/sub","pattern":"*.txt"}`, "ROOT/sub/c.txt"},
		{"glob", `{"path":"ROOT","pattern":"ROOT/sub/*.txt"}`, "ROOT/sub/c.txt"},
	} {
		r := run(c.tool, c.arguments)
		var text string
		for _, part := range r.Content {
			text += part.Text
		}
		if r.Error != nil || !strings.Contains(text, strings.ReplaceAll(c.want, "ROOT", other.dir)) {
			t.Errorf("%s %s: %v\n%s", c.tool, c.arguments, r.Error, text)
		}
	}
	for arguments, name := range map[string]string{
		`{"path":"ROOT/.env"}`: "SecretFile", `{"path":"ROOT/cfg/test.pem"}`: "SecretFile",
		`{"path":"ROOT/out/d.txt"}`: "PathOutsideWorkspace", `{"path":"ROOT/../x"}`: "PathOutsideWorkspace",
		`{"path":"ROOT/none.txt"}`: "FileNotFound", `{"path":"ROOTx/b.txt"}`: "PathOutsideWorkspace",
	} {
		if r := run("read", arguments); r.Error == nil || r.Error.Name != name {
			t.Errorf("%s: the error is %v, want %s", arguments, r.Error, name)
		}
	}
	r, err := f.Call(t.Context(),
		&sdk.Request{CallID: rand.Text(), Tool: "read", Arguments: []byte(`{"path":"/nowhere/to/be/found/x"}`),
			Workdir: f.dir, Roots: []string{"/nowhere/to/be/found"}})
	check(t, err)
	if r.Error == nil || r.Error.Name != "RootUnavailable" {
		t.Errorf("a root that is not there: %v", r.Error)
	}
}

func TestManyFiles(t *testing.T) {
	f := start(t, "a.txt", "one\ntwo\n", "b.txt", "no newline", "empty", "", ".env", "TOKEN=1", "bin", "\x00\x01",
		"new\nline", "x\n", "korean", encoded(t, "euc-kr", samples[0].text))
	r := f.run(t, "read", `{"paths":["a.txt","nothing.txt","b.txt","empty",".env","bin","new\nline","."],"end_line":1}`)
	want := "==> a.txt <==\none\n[lines 1-1 of 2; continue with start_line=2]\n[etag " +
		workspace.Etag([]byte("one\ntwo\n")) + "]" +
		"\n==> nothing.txt <==\n[not read: FileNotFound: there is no file \"nothing.txt\" in the workspace " + f.dir +
		". List the directory to see what is there.]" +
		"\n==> b.txt <==\nno newline\n[etag " + workspace.Etag([]byte("no newline")) + "]" +
		"\n==> empty <==\n[the file is empty]\n[etag e3b0c44298fc]" +
		"\n==> .env <==\n[not read: SecretFile: \".env\" is not read: by its name it holds passwords, keys or tokens. Do " +
		"without it, or ask the person for what you need from it. " +
		"The operator can allow it with allow_secrets = [\".env\"] in the plugin's config.]" +
		"\n==> bin <==\n[not read: BinaryFile: \"bin\" is not text: 2 bytes, by its looks application/octet-stream. Use a " +
		"program that knows this format, through a shell tool.]" +
		"\n==> \"new\\nline\" <==\nx\n[etag " + workspace.Etag([]byte("x\n")) + "]" +
		"\n==> . <==\n[not read: IsADirectory: \".\" is a directory. Name a file in it; a list tool shows what is there.]"
	if diff := cmp.Diff(want, text(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var got []string
	for _, file := range structured[manyOutput](t, r).Files {
		name := ""
		if file.Error != nil {
			name = file.Error.Name
		}
		got = append(got, fmt.Sprint(file.Path, " ", file.Bytes, " ", name))
	}
	files := []string{"a.txt 4 ", "nothing.txt 0 FileNotFound", "b.txt 10 ", "empty 0 ", ".env 0 SecretFile",
		"bin 0 BinaryFile", "new\nline 2 ", ". 0 IsADirectory"}
	if diff := cmp.Diff(files, got); diff != "" || r.Truncated {
		t.Errorf("truncated %v, (-want +got):\n%s", r.Truncated, diff)
	}
}

func TestManyFilesShareTheBytes(t *testing.T) {
	f := start(t, "a", "1234\n", "b", "1234\n5678\n", "c", "x", "d", "")
	r := f.run(t, "read", `{"paths":["a","b","c","d"],"max_bytes":10}`)
	contains(t, text(r), "==> a <==\n1234\n[etag",
		"==> b <==\n1234\n[lines 1-1 of 2, cut at 5 bytes; continue with start_line=2]",
		"==> c <==\n[not read: max_bytes are used up; read it with another call]\n==> d <==\n[not read: max_bytes are used "+
			"up")
	out := structured[manyOutput](t, r)
	if !r.Truncated || !out.Truncated || out.Files[0].Truncated || !out.Files[1].Truncated || !out.Files[2].Truncated {
		t.Errorf("truncated %v: %s", r.Truncated, r.Structured)
	}
}

func TestManyImagesShareTheirBytes(t *testing.T) {
	image := testutil.PNG(maxImages/2 + 8)
	f := start(t, "a.png", image, "b.png", image, "c.txt", "text\n")
	r := f.run(t, "read", `{"paths":["a.png","b.png","c.txt"]}`)
	contains(t, text(r), "==> a.png <==\n[image/png, 1048584 bytes]\n==> b.png <==\n[not read: BinaryFile: ",
		"several files in one call may have 2097152 for images, of which 1048568 are left. Read it with a call of its "+
			"own.]\n==> c.txt <==\ntext\n")
	if r.Content[1].Type != "image" {
		t.Errorf("behind the header comes %s", r.Content[1].Type)
	}
	f.run(t, "read", `{"paths":["b.png"]}`)
}

func TestNoneOfManyFiles(t *testing.T) {
	f := start(t, ".env", "TOKEN=1")
	e := f.fails(t, "FileNotFound", "read", `{"paths":["x","y"]}`)
	contains(t, e.Message, `none of the 2 files could be read: there is no file "x"`, `there is no file "y"`)
	contains(t, string(e.Details), `{"files":[{"path":"x",`)
	contains(t, f.fails(t, "NothingRead", "read", `{"paths":["x",".env"]}`).Message, `none of the 2 files could be read`)
	contains(t, f.fails(t, "SecretFile", "read", `{"paths":[".env"]}`).Message, `".env" is not read: by its name`)
	contains(t, f.fails(t, "FileNotFound", "read", `{"paths":["1","2","3","4","5","6","7"]}`).Message, `; and 2 more`)
}

func TestPathsArguments(t *testing.T) {
	f := start(t, "a", "text")
	fifty := strings.TrimSuffix(strings.Repeat(`"a",`, maxPaths), ",")
	f.run(t, "read", `{"paths":[%s]}`, fifty)
	tests := []struct{ arguments, name, message string }{
		{`{"paths":[` + fifty + `,"a"]}`, "InvalidArguments", "51 files, at most 50"},
		{`{"path":"a","paths":["a"]}`, "InvalidArguments", "path and paths are both given"},
		{`{}`, "InvalidArguments", "neither path nor paths"},
		{`{"paths":[]}`, "InvalidArguments", "neither path nor paths"},
		{`{"paths":[""]}`, "InvalidPath", "empty"},
	}
	for _, test := range tests {
		contains(t, f.fails(t, test.name, "read", "%s", test.arguments).Message, test.message)
	}
	for _, pattern := range []string{"*.go", "{a,b}", "src/**/x?"} {
		e := f.fails(t, "FileNotFound", "read", "%s", sdk.Details(map[string]string{"path": pattern}))
		contains(t, e.Suggestion, "Patterns are not expanded here.")
	}
}

func TestLineNumbers(t *testing.T) {
	f := start(t, "a", numberedLines(11)+"no newline", "crlf", "a\r\nb\r\n", "many", strings.Repeat("\n", 1<<20))
	tests := []struct{ arguments, want string }{
		{`"path":"a","start_line":9,"line_numbers":true`,
			"     9\t9\n    10\t10\n    11\t11\n    12\tno newline\n[lines 9-12 of 12]"},
		{`"path":"crlf","line_numbers":true`, "     1\ta\n     2\tb\n[line endings are CRLF, shown as LF]"},
		{`"path":"a","line_numbers":true,"max_bytes":9`,
			"     1\t1\n[lines 1-1 of 12, cut at 9 bytes; continue with start_line=2]"},
		{`"path":"a","line_numbers":true,"max_bytes":3,"start_line":12`,
			"   \n[line 12 of 12 has 10 bytes, the first 0 are shown; raise max_bytes (up to 1048576)]"},
		{`"path":"a","line_numbers":true,"max_bytes":9,"start_line":12`,
			"    12\tno\n[line 12 of 12 has 10 bytes, the first 2 are shown; raise max_bytes (up to 1048576)]"},
	}
	for _, test := range tests {
		if got := text(f.run(t, "read", `{%s}`, test.arguments)); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s gives %q, want %q", test.arguments, got, test.want)
		}
	}
	out := structured[readOutput](t,
		f.run(t, "read", `{"path":"many","line_numbers":true,"max_bytes":1048576,"end_line":1048576}`))
	if out.Bytes > maxBytes || !out.Truncated {
		t.Errorf("gave %d bytes, truncated %v", out.Bytes, out.Truncated)
	}
}

// The longest names there are, as many as may be asked for, still make a result that comes through.
func TestResultsFitTheWire(t *testing.T) {
	f := start(t)
	deep := path.Join(strings.Repeat("\x01", 250), strings.Repeat("\x02", 250), strings.Repeat("\x03", 250),
		strings.Repeat("\x04", 250))
	for i := range 400 {
		f.put(t, path.Join(deep, strings.Repeat(string(rune('a'+i%26)), 1+i/26)+strings.Repeat("\x05", 200)), "x\n")
	}
	tests := []struct{ tool, arguments, note string }{
		{"glob", `{"pattern":"*","limit":2000}`, "of 400 that match; narrow the pattern"},
		{"grep", `{"pattern":"x","mode":"files","limit":1000}`, "there are more"},
		{"grep", `{"pattern":"x","mode":"count","limit":1000}`, "files not shown"},
		{"grep", `{"pattern":"x","limit":1000}`, "cut at 64 KiB of lines"},
		{"list", `{"depth":10}`, "cut at"},
	}
	for _, test := range tests {
		result := f.run(t, test.tool, "%s", test.arguments)
		contains(t, result.Content[0].Text, test.note)
		if !result.Truncated || len(result.Content[0].Text) > 2<<20 {
			t.Errorf("%s %s: %d bytes, truncated %v", test.tool, test.arguments, len(result.Content[0].Text), result.Truncated)
		}
	}
}

// The most that one call may ask for travels in one result.
func TestLargestResult(t *testing.T) {
	image := testutil.PNG(maxImages / 2)
	f := start(t, "a.png", image, "b.png", image, "text", strings.Repeat("\x01\n", maxBytes))
	paths := []string{`"a.png","b.png","text"`}
	for i := range maxPaths - 3 {
		paths = append(paths, fmt.Sprintf(`"%s%d"`, strings.Repeat("nothing/", 400), i))
	}
	r := f.run(t, "read", `{"paths":[%s],"max_bytes":%d,"end_line":%d}`, strings.Join(paths, ","), maxBytes, maxBytes)
	if out := structured[manyOutput](t, r); len(out.Files) != maxPaths ||
		out.Files[0].Bytes+out.Files[1].Bytes != maxImages || out.Files[2].Bytes != maxBytes {
		t.Errorf("%d files, the first of %d bytes", len(out.Files), out.Files[0].Bytes)
	}
}
