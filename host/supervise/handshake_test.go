package supervise

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHandshake(t *testing.T) {
	dir := shortDir(t)
	lis, err := net.Listen("unix", filepath.Join(dir, "plugin1"))
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	socket := lis.Addr().String()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if os.WriteFile(file, nil, 0o600) != nil || os.Symlink(socket, link) != nil {
		t.Fatal("cannot write")
	}
	long := func(length int) string {
		line := "1|1|unix|" + dir + "/plugin1|grpc|\n"
		return strings.Replace(line, "/plugin1", strings.Repeat("/", length-len(line)+1)+"plugin1", 1)
	}
	for name, c := range map[string]struct{ line, words string }{
		"right":                  {"1|1|unix|" + socket + "|grpc|\n", ""},
		"right, without the end": {"1|1|unix|" + socket + "|grpc", ""},
		"right, with CR":         {"1|1|unix|" + socket + "|grpc|\r\n", ""},
		"empty":                  {"", "ended before"},
		"blank":                  {"\n", "no toolhost plugin"},
		"words":                  {"hello\n", `"hello"`},
		"other core":             {"2|1|unix|" + socket + "|grpc|\n", "no toolhost plugin"},
		"other version":          {"1|9|unix|" + socket + "|grpc|\n", "version"},
		"tcp":                    {"1|1|tcp|127.0.0.1:1|grpc|\n", "Unix socket"},
		"net/rpc":                {"1|1|unix|" + socket + "|netrpc|\n", "grpc"},
		"certificate":            {"1|1|unix|" + socket + "|grpc|AAAA\n", "certificate"},
		"other folder":           {"1|1|unix|/tmp/plugin1|grpc|\n", "outside"},
		"dots":                   {"1|1|unix|" + dir + "/../x|grpc|\n", "outside"},
		"relative":               {"1|1|unix|plugin1|grpc|\n", "outside"},
		"gone":                   {"1|1|unix|" + dir + "/nothing|grpc|\n", "not there"},
		"a file":                 {"1|1|unix|" + file + "|grpc|\n", "no socket"},
		"a link":                 {"1|1|unix|" + link + "|grpc|\n", "no socket"},
		"as long as it may be":   {long(4 << 10), ""},
		"one byte longer":        {long(4<<10 + 1), "no toolhost plugin"},
		"many fields":            {"1|1|unix|" + socket + "|grpc|||||\n", "no toolhost plugin"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readHandshake(bufio.NewReaderSize(strings.NewReader(c.line), maxHandshake), dir)
			switch {
			case c.words == "" && err != nil:
				t.Error(err)
			case c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)):
				t.Errorf("got %v, want words %q", err, c.words)
			}
		})
	}
}

func FuzzHandshake(f *testing.F) {
	for _, seed := range []string{"1|1|unix|/tmp/x|grpc|\n", "|||||", "1|1|tcp|127.0.0.1:22|grpc|\n", "\x00\xff"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, line string) {
		if text, err := readHandshake(bufio.NewReaderSize(strings.NewReader(line), maxHandshake), dir); err == nil {
			t.Errorf("accepted %q though nobody listens", text)
		}
	})
}
