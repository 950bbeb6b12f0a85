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
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// References are the values that a configuration refers to by name, such as env.API_KEY, and the text displayed
// instead of each. The zero value has none.
type References struct {
	// Config has the text displayed for values of Spec.Config, by JSON pointer.
	Config map[string]string
	// Words are the words of Spec.Command for display, and Locked for a lock file; nil when no word is by reference.
	Words, Locked []string
	// Written has a note for each word of Spec.Command that is by reference: how it is written, and what its references
	// come to. Errors about a word that leads to no file have it. It is nil when no word is by reference.
	Written []string
	// Texts has the text displayed for values anywhere in a text, such as an error or a log line. AddText fills it.
	Texts map[string]string
}

// minReference is the fewest bytes of a value that is hidden in texts. Shorter ones are ordinary words and numbers.
const minReference = 6

// AddText hides a value in texts, and displays name instead. It ignores values of less than 6 bytes, and the path of
// an existing file, which errors have to name. Of a value with several lines each long line is hidden too.
func (r *References) AddText(value, name string) {
	if len(value) < minReference {
		return
	}
	if filepath.IsAbs(value) && len(value) <= 4096 {
		if _, err := os.Lstat(value); err == nil {
			return
		}
	}
	name = strings.NewReplacer(`"`, "'", `\`, "/").Replace(name) // it may become part of a JSON string
	if r.Texts == nil {
		r.Texts = map[string]string{}
	}
	r.Texts[value] = cmp.Or(r.Texts[value], name)
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= 2*minReference && !strings.HasPrefix(line, "-----") {
				r.Texts[line] = cmp.Or(r.Texts[line], name)
			}
		}
	}
}

// Hide replaces values in the text by their names, also values that were cut short by "…" or "...".
func (r References) Hide(text string) string { return r.Hider()(text) }

// Hider returns Hide for use on many texts.
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

// A Hiding hides the values of all configurations that were added to it. The zero value hides none.
type Hiding struct{ now atomic.Pointer[hidden] }

type hidden struct {
	texts map[string]string
	hide  func(text string) string
}

// Add hides the values of a configuration from here on, too.
func (h *Hiding) Add(r References) {
	texts := map[string]string{}
	if old := h.now.Load(); old != nil {
		maps.Copy(texts, old.texts)
	}
	maps.Copy(texts, r.Texts)
	h.now.Store(&hidden{texts, References{Texts: texts}.Hider()})
}

// Hide replaces the values in a text by their names.
func (h *Hiding) Hide(text string) string {
	if now := h.now.Load(); now != nil {
		return now.hide(text)
	}
	return text
}

func hideIn(text string, spellings []spelling) string {
	for _, s := range spellings {
		text = strings.ReplaceAll(text, s.text, s.name)
	}
	return text
}

// A spelling is one way to write a value: plain, quoted, or escaped.
type spelling struct{ text, name string }

// spellings are sorted by length, the longest first: one value may be part of another.
func (r References) spellings() (out []spelling) {
	for _, value := range slices.Sorted(maps.Keys(r.Texts)) {
		name := r.Texts[value]
		quoted, _ := json.Marshal(value) // a string can always be encoded
		inner := func(quoted string) string { return quoted[1 : len(quoted)-1] }
		for _, text := range []string{
			value, inner(string(quoted)), inner(string(sdk.Encode(value))), inner(strconv.Quote(value)),
			url.QueryEscape(value), url.PathEscape(value), strings.Join(strings.Fields(value), " "),
		} {
			if len(text) >= minReference {
				out = append(out, spelling{text, name})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b spelling) int { return cmp.Compare(len(b.text), len(a.text)) })
	return slices.Compact(out)
}

// hideCut replaces beginnings of values that are followed by a mark of a cut.
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
		for n := min(len(s.text)-1, len(bare)); n >= minReference; n-- {
			if strings.HasSuffix(bare, s.text[:n]) {
				return bare[:len(bare)-n] + s.name + text[len(bare):]
			}
		}
	}
	return text
}

func (r References) hideError(err error) error {
	if err == nil {
		return nil
	}
	if text := r.Hide(err.Error()); text != err.Error() {
		return withText{text, err}
	}
	return err
}

// ShownCommand is the command for display: arguments by reference as the configuration writes them.
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

// ShownConfig is the plugin's configuration for display: JSON, except for values by reference, which are as the
// configuration writes them.
func (s Spec) ShownConfig() string {
	if len(s.References.Config) == 0 {
		return s.References.Hide(string(s.Config))
	}
	d := json.NewDecoder(bytes.NewReader(s.Config))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "not valid JSON"
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
			b.Write(sdk.Encode(name))
			b.WriteByte(':')
			r.write(b, v[name], pointer+"/"+textutil.EscapePointer(name))
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
		b.Write(sdk.Encode(v))
	}
}
