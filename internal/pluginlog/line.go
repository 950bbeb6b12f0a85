// Package pluginlog keeps what plugins print, and what becomes of them, in a file for each plugin, and words it for
// their authors. It takes the records of the host's log, which have no secrets and no control characters any more.
package pluginlog

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
)

// Names of attributes in the host's log.
const (
	pluginKey     = "plugin"     // of the logger of one plugin
	streamKey     = "stream"     // of lines that a plugin prints
	fieldsKey     = "fields"     // of such a line in hclog's format
	attributesKey = "attributes" // of a message that a handler logs, as JSON
)

// maxText is the limit, in bytes, of the text of one record.
const maxText = 32 << 10

// Said reports whether the record is a line that the plugin printed, or a message that a handler logged.
func Said(r slog.Record) (is bool) {
	r.Attrs(func(a slog.Attr) bool {
		is = is || a.Key == streamKey || a.Key == attributesKey
		return !is
	})
	return is
}

// Text is a record for people, without its time: a line, and below it the stack of a panic, if it has one.
func Text(r slog.Record) string {
	var words, below strings.Builder
	level := strings.ToLower(r.Level.String())
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case streamKey:
			if level = a.Value.String(); r.Level > slog.LevelDebug {
				level += " " + strings.ToLower(r.Level.String())
			}
		case fieldsKey:
			for _, field := range a.Value.Group() {
				add(&words, &below, field.Key, field.Value.String())
			}
		case attributesKey:
			addJSON(&words, &below, a.Value.String())
		case "call_id", "session_id", pluginKey:
		default:
			add(&words, &below, a.Key, a.Value.String())
		}
		return true
	})
	text, _ := textutil.Visible(level+": "+oneLine(r.Message)+words.String()+below.String(), -1)
	return textutil.Cut(text, maxText)
}

// add adds an attribute: one of several lines stands below the message.
func add(words, below *strings.Builder, key, value string) {
	value = strings.TrimRight(value, "\n")
	if !strings.Contains(value, "\n") {
		fmt.Fprintf(words, " %s=%s", oneLine(key), value)
		return
	}
	for line := range strings.Lines(value) {
		below.WriteString("\n    " + strings.TrimRight(line, "\n"))
	}
}

// addJSON adds the members of an object. One that was cut is no JSON any more, and is shown as it is.
func addJSON(words, below *strings.Builder, text string) {
	var members map[string]any
	if text == "" || json.Unmarshal([]byte(text), &members) != nil {
		add(words, below, attributesKey, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		value, is := members[key].(string)
		if !is {
			raw, _ := json.Marshal(members[key]) // it came from JSON
			value = string(raw)
		}
		add(words, below, key, value)
	}
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }
