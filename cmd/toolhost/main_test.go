package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.hcl")
	text := fmt.Sprintf("plugin_dirs = [%q]\nplugin \"gone\" {\n  command = [\"./gone\"]\n}\nprofile \"looking\" {\n  read_only = true\n}\n", bin)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want int
		args string
	}{
		{0, `call|--approve|always|shell__exec|{"command":"exit 3"}`},
		{1, `call|readfile__read|{"path":"nothing"}`},
		{2, `call|nosuch__tool|{}`},
		{2, `call|readfile__read|{"path":1}`},
		{2, `call|readfile__read|{`},
		{2, `no-such-command`},
		{2, `--config|gone.hcl|discover`},
		{4, `call|gone__tool|{}`},
		{4, `discover`},
		{5, `call|--approve|always|shell__exec|{"command":"sleep 60"}|--timeout|200ms`},
		{3, `call|shell__exec|{"command":"sleep 60"}`},
		{3, `call|--approve|ask|shell__exec|{"command":"sleep 60"}`},
		{3, `call|--approve|never|shell__exec|{"command":"sleep 60"}`},
		{3, `call|--profile|looking|edit__write|{"path":"a","content":"b"}`},
		{2, `call|--profile|loking|readfile__list|{}`},
		{2, `call|--approve|maybe|readfile__list|{}`},
		{0, `policy|explain|shell__exec|{"command":"sleep 60"}`},
		{2, `policy|explain|shell__exec|{"command":7}`},
		{3, `policy|explain|--profile|looking|edit__write|{"path":"a","content":"b"}`},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, errs bytes.Buffer
			args := append([]string{"--config", config, "--workdir", dir}, strings.Split(c.args, "|")...)
			if got := run(args, strings.NewReader(""), &out, &errs); got != c.want {
				t.Errorf("exit code %d, want %d\n%s%s", got, c.want, out.String(), errs.String())
			}
		})
	}
}
