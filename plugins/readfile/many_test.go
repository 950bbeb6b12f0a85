package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

func TestManyFiles(t *testing.T) {
	f := start(t, "a.txt", "one\ntwo\n", "b.txt", "no newline", "empty", "", ".env", "TOKEN=1", "bin", "\x00\x01", "new\nline", "x\n", "korean", encoded(t, "euc-kr", samples[0].text))
	r := f.run(t, "read", `{"paths":["a.txt","nothing.txt","b.txt","empty",".env","bin","new\nline","."],"end_line":1}`)
	want := "==> a.txt <==\none\n[lines 1-1 of 2; continue with start_line=2]\n[etag " + workspace.Etag([]byte("one\ntwo\n")) + "]" +
		"\n==> nothing.txt <==\n[not read: FileNotFound: there is no file \"nothing.txt\" in the workspace " + f.dir + ". List the directory to see what is there.]" +
		"\n==> b.txt <==\nno newline\n[etag " + workspace.Etag([]byte("no newline")) + "]" +
		"\n==> empty <==\n[the file is empty]\n[etag e3b0c44298fc]" +
		"\n==> .env <==\n[not read: SecretFile: \".env\" is not read: by its name it holds passwords, keys or tokens. Do without it, or ask the person for what you need from it. " +
		"The operator can allow it with allow_secrets = [\".env\"] in the plugin's config.]" +
		"\n==> bin <==\n[not read: BinaryFile: \"bin\" is not text: 2 bytes, by its looks application/octet-stream. Use a program that knows this format, through a shell tool.]" +
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
	files := []string{"a.txt 4 ", "nothing.txt 0 FileNotFound", "b.txt 10 ", "empty 0 ", ".env 0 SecretFile", "bin 0 BinaryFile", "new\nline 2 ", ". 0 IsADirectory"}
	if diff := cmp.Diff(files, got); diff != "" || r.Truncated {
		t.Errorf("truncated %v, (-want +got):\n%s", r.Truncated, diff)
	}
}

func TestManyFilesShareTheBytes(t *testing.T) {
	f := start(t, "a", "1234\n", "b", "1234\n5678\n", "c", "x", "d", "")
	r := f.run(t, "read", `{"paths":["a","b","c","d"],"max_bytes":10}`)
	contains(t, text(r), "==> a <==\n1234\n[etag", "==> b <==\n1234\n[lines 1-1 of 2, cut at 5 bytes; continue with start_line=2]",
		"==> c <==\n[not read: max_bytes are used up; read it with another call]\n==> d <==\n[not read: max_bytes are used up")
	out := structured[manyOutput](t, r)
	if !r.Truncated || !out.Truncated || out.Files[0].Truncated || !out.Files[1].Truncated || !out.Files[2].Truncated {
		t.Errorf("truncated %v: %s", r.Truncated, r.Structured)
	}
}

func TestManyImagesShareTheirBytes(t *testing.T) {
	image := "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", maxImages/2)
	f := start(t, "a.png", image, "b.png", image, "c.txt", "text\n")
	r := f.run(t, "read", `{"paths":["a.png","b.png","c.txt"]}`)
	contains(t, text(r), "==> a.png <==\n[image/png, 1048584 bytes]\n==> b.png <==\n[not read: BinaryFile: ", "several files in one call may have 2097152 for images, of which 1048568 are left. Read it with a call of its own.]\n==> c.txt <==\ntext\n")
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
		{`{"path":"a","paths":["a"]}`, "InvalidArguments", "either path or paths, not both"},
		{`{}`, "InvalidArguments", "give path, or paths"},
		{`{"paths":[]}`, "InvalidArguments", "give path, or paths"},
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
		{`"path":"a","start_line":9,"line_numbers":true`, "     9\t9\n    10\t10\n    11\t11\n    12\tno newline\n[lines 9-12 of 12]"},
		{`"path":"crlf","line_numbers":true`, "     1\ta\n     2\tb\n[line endings are CRLF, shown as LF]"},
		{`"path":"a","line_numbers":true,"max_bytes":9`, "     1\t1\n[lines 1-1 of 12, cut at 9 bytes; continue with start_line=2]"},
		{`"path":"a","line_numbers":true,"max_bytes":3,"start_line":12`, "   \n[line 12 of 12 has 10 bytes, the first 0 are shown; raise max_bytes (up to 1048576)]"},
		{`"path":"a","line_numbers":true,"max_bytes":9,"start_line":12`, "    12\tno\n[line 12 of 12 has 10 bytes, the first 2 are shown; raise max_bytes (up to 1048576)]"},
	}
	for _, test := range tests {
		if got := text(f.run(t, "read", `{%s}`, test.arguments)); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s gives %q, want %q", test.arguments, got, test.want)
		}
	}
	out := structured[readOutput](t, f.run(t, "read", `{"path":"many","line_numbers":true,"max_bytes":1048576,"end_line":1048576}`))
	if out.Bytes > maxBytes || !out.Truncated {
		t.Errorf("gave %d bytes, truncated %v", out.Bytes, out.Truncated)
	}
}
