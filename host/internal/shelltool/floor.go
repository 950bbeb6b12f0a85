package shelltool

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/shellcmd"
)

// Catastrophe tells why a call's command would destroy the machine, a home folder or a disk, "" when it would not as
// far as it can be read. It looks at tools for shell commands, and at what others that may change something take as a
// command.
func Catastrophe(q *policy.Query) string {
	if q.Category != Category && q.Hints.ReadOnly != nil && *q.Hints.ReadOnly {
		return ""
	}
	where, err := Where(q)
	if err != nil { // which the rules tell of
		where = shellcmd.Context{Dir: q.Workdir, Root: q.Workdir}
	}
	program, _ := foreign(q)
	for _, name := range []string{Command, "cmd", "script"} {
		line := commandLine(q.Argument(name))
		if line == "" {
			continue
		}
		if program != "" {
			line = quoted(program) + " -c " + quoted(line)
		}
		if why := shellcmd.Catastrophe(line, where); why != "" {
			return why
		}
		if input, _, _ := text(q, "stdin"); input != "" && readsCommands().MatchString(line) {
			if why := shellcmd.Catastrophe(input, where); why != "" {
				return why
			}
		}
	}
	return ""
}

// readsCommands reports a command that may run what it is given to read.
var readsCommands = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(ba|da|z|k|mk|a|fi|c|tc)?sh\b`) })

// commandLine is a command as a shell would read it: text, or a list of words.
func commandLine(raw json.RawMessage) string {
	var line string
	if len(raw) == 0 || json.Unmarshal(raw, &line) == nil {
		return line
	}
	var words []string
	if json.Unmarshal(raw, &words) != nil {
		return ""
	}
	for i, w := range words {
		words[i] = quoted(w)
	}
	return strings.Join(words, " ")
}
