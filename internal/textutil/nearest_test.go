package textutil

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"old_string", "new_string", "path", "timeout", strings.Repeat("x", 65)}
	for name, want := range map[string]string{
		"oldString": "old_string", "OLD-STRING": "old_string", "new_strnig": "new_string", "pth": "path",
		"timeuot": "timeout",
		"path":    "", "command": "", "": "", "p": "", strings.Repeat("x", 64): "", strings.Repeat("x", 66): "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) is %q, want %q", name, got, want)
		}
	}
	if got := DidYouMean("pth", names); got != `; did you mean "path"?` {
		t.Error(got)
	}
}

func TestCut(t *testing.T) {
	for n, want := range []string{"", "a", "a", "aé", "aé"} {
		if got := Cut("aé", n); got != want {
			t.Errorf("Cut at %d is %q, want %q", n, got, want)
		}
	}
	for n, want := range []string{"…", "a…", "aé", "aé"} {
		if got := CutRunes("aé", n, "…"); got != want {
			t.Errorf("CutRunes at %d is %q, want %q", n, got, want)
		}
	}
}

func TestRelated(t *testing.T) {
	edit := []string{"path", "old_string", "new_string", "near_line", "replace_all"}
	shell := []string{"command", "workdir", "timeout_seconds", "rows", "columns"}
	job := []string{"id", "action", "wait_seconds"}
	lines := []string{"start_line", "end_line"}
	for _, c := range []struct {
		name  string
		names []string
		want  string
	}{
		{"file_path", edit, "path"}, {"filePath", edit, "path"}, {"filename", edit, "path"}, {"old_str", edit, "old_string"},
		{"newStr", edit, "new_string"}, {"timeout", shell, "timeout_seconds"}, {"cwd", shell, "workdir"},
		{"cmd", shell, "command"}, {"working_directory", shell, "workdir"}, {"job", job, "id"}, {"job_id", job, "id"},
		{"wait", job, "wait_seconds"}, {"line", lines, ""}, {"verbose", shell, ""}, {"string", edit, ""}, {"", edit, ""},
		{"p", edit, ""}, {"path", edit, ""}, {"old", edit, "old_string"}, {"to_date", []string{"to", "from"}, "to"},
		{"ol", edit, ""}, {"filename", []string{"limit", "file_path"}, "file_path"},
	} {
		if got := Related(c.name, c.names); got != c.want {
			t.Errorf("%q is related to %q, want %q", c.name, got, c.want)
		}
	}
}
