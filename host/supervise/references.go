package supervise

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// References are the values of a configuration that it names instead of writing them down, such as env.API_KEY, and how each
// is shown. The zero value has none.
type References struct {
	// Config holds what is shown in the place of values of Spec.Config, by their JSON pointers.
	Config map[string]string
	// Words are those of Spec.Command as people are shown them, and Locked as a lock file keeps them; nil when no argument is by
	// reference.
	Words, Locked []string
	// Texts holds what is shown in the place of values wherever they stand in a text, such as an error or a line of a log.
	Texts map[string]string
}

// MinReference is how many bytes a value must have to be found in texts. Shorter ones are ordinary words and numbers.
const MinReference = 6

// AddText has a value shown as name in texts. Values that are too short to be secret, or are the path of a file or folder,
// stay; of one with several lines each long line is a value too.
func (r *References) AddText(value, name string) {
	if len(value) < MinReference || isPath(value) {
		return
	}
	name = strings.NewReplacer(`"`, "'", `\`, "/").Replace(name) // it may come to stand in a JSON string
	if r.Texts == nil {
		r.Texts = map[string]string{}
	}
	r.Texts[value] = cmp.Or(r.Texts[value], name)
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= 2*MinReference && !strings.HasPrefix(line, "-----") {
				r.Texts[line] = cmp.Or(r.Texts[line], name)
			}
		}
	}
}

// isPath says whether the value names something in the file system, which errors have to tell.
func isPath(value string) bool {
	if !filepath.IsAbs(value) || len(value) > 4096 {
		return false
	}
	_, err := os.Lstat(value)
	return err == nil
}

// Hide gives the text with the names of values in their place, also where the beginning of one was cut short by "…" or "...".
func (r References) Hide(text string) string { return r.Hider()(text) }

// Hider is Hide for many texts: it works out once how the values are written.
func (r References) Hider() func(text string) string {
	if len(r.Texts) == 0 {
		return func(text string) string { return text }
	}
	spellings := r.spellings()
	return func(text string) string {
		text = hideIn(text, spellings)
		for _, mark := range []string{"…", "..."} {
			text = hideCut(text, mark, spellings)
		}
		return text
	}
}

func hideIn(text string, spellings []spelling) string {
	for _, s := range spellings {
		text = strings.ReplaceAll(text, s.text, s.name)
	}
	return text
}

// A spelling is one way to write a value.
type spelling struct{ text, name string }

// spellings are the ways to write the values, the longest first: one value may be part of another.
func (r References) spellings() (out []spelling) {
	for _, value := range slices.Sorted(maps.Keys(r.Texts)) {
		name := r.Texts[value]
		quoted, _ := json.Marshal(value) // a string can always be written
		plain := bytes.Buffer{}
		e := json.NewEncoder(&plain)
		e.SetEscapeHTML(false)
		_ = e.Encode(value)
		for _, text := range []string{
			value, inner(string(quoted)), inner(strings.TrimSpace(plain.String())), inner(strconv.Quote(value)),
			url.QueryEscape(value), url.PathEscape(value), strings.Join(strings.Fields(value), " "),
		} {
			if len(text) >= MinReference {
				out = append(out, spelling{text, name})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b spelling) int { return cmp.Compare(len(b.text), len(a.text)) })
	return slices.Compact(out)
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// hideCut replaces beginnings of values that stand before a mark of something left out.
func hideCut(text, mark string, spellings []spelling) string {
	var out strings.Builder
	for {
		head, rest, found := strings.Cut(text, mark)
		if found {
			head = hideEnd(head, spellings)
		}
		out.WriteString(head)
		if !found {
			return out.String()
		}
		out.WriteString(mark)
		text = rest
	}
}

// hideEnd replaces the beginning of a value at the end of the text.
func hideEnd(text string, spellings []spelling) string {
	bare := strings.TrimRight(text, "\"'` (")
	for _, s := range spellings {
		for n := min(len(s.text)-1, len(bare)); n >= MinReference; n-- {
			if strings.HasSuffix(bare, s.text[:n]) {
				return bare[:len(bare)-n] + s.name + text[len(bare):]
			}
		}
	}
	return text
}

// hidden is an error that does not tell the values.
type hidden struct {
	error
	text string
}

func (e hidden) Error() string { return e.text }
func (e hidden) Unwrap() error { return e.error }

func (r References) hideError(err error) error {
	if err == nil {
		return nil
	}
	if text := r.Hide(err.Error()); text != err.Error() {
		return hidden{err, text}
	}
	return err
}

// ShownCommand is the command as people are shown it: arguments by reference as they are written.
func (s Spec) ShownCommand() []string { return s.References.words(s.References.Words, s.Command) }

// LockedCommand is the command as a lock file keeps it.
func (s Spec) LockedCommand() []string { return s.References.words(s.References.Locked, s.Command) }

func (r References) words(written, command []string) (out []string) {
	if written == nil {
		written = command
	}
	hide := r.Hider()
	for _, word := range written {
		out = append(out, hide(word))
	}
	return out
}

// ShownConfig is the plugin's configuration as people are shown it: JSON, but for values by reference, which are shown as they
// are written.
func (s Spec) ShownConfig() string {
	if len(s.References.Config) == 0 {
		return s.References.Hide(string(s.Config))
	}
	d := json.NewDecoder(bytes.NewReader(s.Config))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "what cannot be shown"
	}
	var b strings.Builder
	s.References.write(&b, v, "")
	return s.References.Hide(b.String())
}

func (r References) write(b *strings.Builder, v any, pointer string) {
	if name, there := r.Config[pointer]; there {
		b.WriteString(name)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(jsonText(name))
			b.WriteByte(':')
			r.write(b, v[name], pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			r.write(b, item, fmt.Sprintf("%s/%d", pointer, i))
		}
		b.WriteByte(']')
	default:
		b.Write(jsonText(v))
	}
}

func jsonText(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it came from JSON
	return bytes.TrimSpace(b.Bytes())
}
