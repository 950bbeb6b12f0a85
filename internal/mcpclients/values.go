package mcpclients

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/textutil"
)

// A value is a text with references to variables in it.
type value []part

// A part is a text or, with a variable, a reference.
type part struct {
	text     string
	variable string
	fallback *string // what the reference is when the variable is not set
}

// references are all ways in which clients refer to variables.
var references = lazy.Regexp(`\$\{\{ *(?:secrets|env)\.(\w+) *\}\}` + // Continue
	`|\$\{(workspaceFolder|workspaceRoot|cwd|userHome|pathSeparator|/)(?::[^}]*)?\}` + // editors
	`|\$\{(?:env:)?([A-Za-z_]\w*)(?::?-([^}]*))?\}` +
	`|\{env:([A-Za-z_]\w*)\}` + // opencode
	`|\$\{input:([^}]+)\}`) // VS Code

// ofEditors are references to what an editor knows, and not to variables.
var ofEditors = lazy.Regexp(`^\$\{(?:workspaceFolderBasename|file\w*|relativeFile\w*|selectedText|(?:line|column)Number|` +
	`execPath|defaultBuildTask)\}$`)

// replaced are what some clients put a value for, and others do not: Crush runs commands, LibreChat knows its users.
var (
	replacedAnywhere = lazy.Regexp(`\{\{\w+\}\}`)
	replacedInValues = lazy.Regexp(`\{\{\w+\}\}|\$\([^)]*\)`)
)

// others are references for which there is nothing.
var others = lazy.Regexp(`\$\{[^}]*\}|\{file:[^}]*\}`)

// bare are references without braces, in values that are no arguments.
var bare = lazy.Regexp(`\$([A-Z][A-Z0-9_]{2,})\b`)

// readValue finds the references in a text.
func readValue(text string, withBare bool) (out value, err error) {
	if withBare {
		text = bare().ReplaceAllString(text, "$${$1}")
	}
	add := func(literal string) error {
		if other := others().FindString(literal); other != "" {
			return fmt.Errorf("it uses %s, and toolhost has nothing for that", brief(other))
		}
		if literal != "" {
			out = append(out, part{text: literal})
		}
		return nil
	}
	at := 0
	for _, m := range references().FindAllStringSubmatchIndex(text, -1) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		if err := add(text[at:m[0]]); err != nil {
			return nil, err
		}
		at = m[1]
		switch place := group(2); {
		case ofEditors().MatchString(text[m[0]:m[1]]):
			return nil, add(text[m[0]:m[1]])
		case place == "userHome":
			out = append(out, part{variable: "HOME"})
		case place == "pathSeparator" || place == "/":
			out = append(out, part{text: "/"})
		case place != "": // a server starts in the work folder
			out = append(out, part{text: "."})
		case group(6) != "":
			out = append(out, part{variable: variableFrom(group(6))})
		default:
			p := part{variable: group(1) + group(3) + group(5)}
			if given := group(4); m[8] >= 0 && !looksSecret(given) && (!redact.Setting(p.variable) || ordinary(given)) {
				p.fallback = &given
			}
			out = append(out, p)
		}
	}
	return out, add(text[at:])
}

var notInVariable = lazy.Regexp(`[^A-Z0-9]+`)

// variableFrom makes the name of a variable from another name.
func variableFrom(name string) string {
	text := strings.Trim(notInVariable().ReplaceAllString(strings.ToUpper(name), "_"), "_")
	if text == "" || text[0] <= '9' {
		text = strings.TrimSuffix("MCP_"+text, "_")
	}
	return text[:min(len(text), 60)]
}

func brief(text string) string { return textutil.CutRunes(text, 40, "…") }

// plain is the text of a value without references; ok is false if it has some.
func (v value) plain() (text string, ok bool) {
	for _, p := range v {
		if p.variable != "" {
			return "", false
		}
		text += p.text
	}
	return text, true
}

// hcl writes the value as an expression.
func (v value) hcl() string {
	if len(v) == 1 && v[0].variable != "" {
		return v[0].reference()
	}
	var out strings.Builder
	for _, p := range v {
		if p.variable != "" {
			out.WriteString("${" + p.reference() + "}")
			continue
		}
		out.WriteString(escapeHCL(p.text, strings.HasSuffix(out.String(), "$") || strings.HasSuffix(out.String(), "%")))
	}
	return `"` + out.String() + `"`
}

func (p part) reference() string {
	if p.fallback != nil {
		return fmt.Sprintf(`env("%s", "%s")`, p.variable, escapeHCL(*p.fallback, false))
	}
	return "env." + p.variable
}

// quoteHCL writes a text as a string of HCL in which nothing is evaluated.
func quoteHCL(text string) string { return `"` + escapeHCL(text, false) + `"` }

// escapeHCL escapes what a string of HCL gives a meaning. A $ or % before a brace, and behind another one, is written
// by its number: $$${ would be read in several ways. After says that such a character comes before the text.
func escapeHCL(text string, after bool) string {
	var out strings.Builder
	for i, r := range text {
		sign := r == '$' || r == '%'
		switch {
		case strings.ContainsRune("\"\\\n\r\t", r):
			quoted := strconv.Quote(string(r))
			out.WriteString(quoted[1 : len(quoted)-1])
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&out, `\u%04x`, r)
		case sign && after, sign && i+1 < len(text) && (text[i+1] == '{' || text[i+1] == '$' || text[i+1] == '%'),
			sign && i+1 == len(text):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
		after = sign
	}
	return out.String()
}

var (
	prefixed = lazy.Regexp(`^((?i:bearer|basic|token|bot|apikey)\s+)(\S.*)$`)
	// random is a run as keys have them and words do not; digits and letters are counted apart.
	random   = lazy.Regexp(`[A-Za-z0-9]{16,}`)
	redactor = redact.New()
)

// looksSecret reports whether a text is a key by its look.
func looksSecret(text string) bool {
	if redactor.Text(text) != text || strings.ContainsAny(text, "{[") && string(redactor.JSON([]byte(text))) != text {
		return true
	}
	for _, run := range random().FindAllString(text, -1) {
		digits := len(strings.Map(func(r rune) rune {
			if r <= '9' {
				return r
			}
			return -1
		}, run))
		if digits >= 2 && len(run)-digits >= 2 {
			return true
		}
	}
	return false
}

var assignment = lazy.Regexp(`^([+ -]?\s*(?:- )?["']?([\w.-]+)["']?\s*[:=]\s*)(\S.*)$`)

// HideSecrets replaces the secrets in a line of settings by [redacted].
func HideSecrets(line string) string {
	if m := assignment().FindStringSubmatch(line); m != nil && redact.Setting(m[2]) &&
		!ordinary(strings.Trim(m[3], `"',`)) && !strings.HasPrefix(m[3], "{") && !strings.HasPrefix(m[3], "[") {
		return m[1] + "[redacted]"
	}
	line = redactor.Text(line)
	for _, run := range random().FindAllString(line, -1) {
		if looksSecret(run) {
			line = strings.ReplaceAll(line, run, "[redacted]")
		}
	}
	return line
}

// ordinary reports whether a text is no secret whatever its name is: a number, a boolean, a path, nothing.
func ordinary(text string) bool {
	for _, root := range []string{"/", "./", "../", "~/"} {
		if strings.HasPrefix(text, root) && !looksSecret(text) {
			return true
		}
	}
	switch strings.ToLower(text) {
	case "", "true", "false", "yes", "no", "on", "off", "null", "none":
		return true
	}
	return len(text) < 8 && strings.Trim(text, "0123456789.") == ""
}

// secretQuery replaces the secrets in the parameters and in the path of an address.
func secretQuery(text string, refer func(name string) string) (value, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return nil, fmt.Errorf("its address cannot be read")
	}
	if u.User != nil {
		return nil, fmt.Errorf("its address has a user name or a password in it; use a header with a reference instead")
	}
	head, query, hasQuery := strings.Cut(text, "?")
	query, fragment, hasFragment := strings.Cut(query, "#")
	var out value
	for i, segment := range strings.Split(head, "/") {
		if i > 0 {
			out = append(out, part{text: "/"})
		}
		if i > 2 && looksSecret(segment) { // behind https://host
			out = append(out, part{variable: refer("URL_SECRET")})
		} else {
			out = append(out, part{text: segment})
		}
	}
	if hasQuery {
		for i, pair := range strings.Split(query, "&") {
			out = append(out, part{text: map[bool]string{true: "?", false: "&"}[i == 0]})
			name, content, given := strings.Cut(pair, "=")
			if given && !ordinary(content) && (redact.Setting(name) || looksSecret(content)) {
				out = append(out, part{text: name + "="}, part{variable: refer(name)})
			} else {
				out = append(out, part{text: pair})
			}
		}
	}
	if hasFragment {
		out = append(out, part{text: "#" + fragment})
	}
	return out.joined(), nil
}

// joined puts texts beside each other together.
func (v value) joined() (out value) {
	for _, p := range v {
		if last := len(out) - 1; p.variable == "" && last >= 0 && out[last].variable == "" {
			out[last].text += p.text
		} else {
			out = append(out, p)
		}
	}
	return out
}
