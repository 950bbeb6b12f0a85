package mcpclients

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
)

// An Import says how servers become plugins.
type Import struct {
	// Program is the program of the plugin.
	Program string
	// Taken are names of plugins that are there already. Reserved ones belong to programs that come with toolhost.
	Taken, Reserved []string

	names     map[string]bool
	variables map[string]Variable
}

// A Plugin is a server as a block of config.hcl.
type Plugin struct {
	Name   string
	Server Server
	HCL    string // "" if it could not be taken over
}

// A Variable has to be set before its plugins start.
type Variable struct {
	Name string
	// Held says where the value is: "env GITHUB_TOKEN of github", or "" when the client had a reference too.
	Held string

	secret string
}

// Plugins makes the blocks, and the variables that they refer to.
func (o *Import) Plugins(servers []Server) (out []Plugin, variables []Variable) {
	o.names, o.variables = map[string]bool{}, map[string]Variable{}
	for _, name := range append(slices.Clone(o.Taken), o.Reserved...) {
		o.names[name] = true
	}
	for _, s := range servers { // what refers to a variable by its name keeps that name
		for _, name := range s.variables() {
			o.variables[name] = Variable{Name: name}
		}
	}
	for _, s := range servers {
		p := Plugin{Server: s}
		if name := o.wanted(s); s.Problem == "" && slices.Contains(o.Taken, name) {
			p.Server.Problem = fmt.Sprintf("the configuration has a plugin %q already; rename one of them", name)
		}
		if p.Server.Problem == "" {
			p.Name = o.name(s)
			text, err := o.block(&p)
			if p.HCL = text; err != nil {
				p.HCL, p.Server.Problem = "", err.Error()
			}
			p.noteReplaced()
		}
		out = append(out, p)
	}
	used := map[string]bool{}
	for _, p := range out {
		if p.Server.Disabled {
			continue
		}
		for _, m := range usedVariable().FindAllStringSubmatch(p.HCL, -1) {
			used[m[1]] = true
		}
	}
	for _, v := range o.variables {
		if used[v.Name] {
			variables = append(variables, v)
		}
	}
	slices.SortFunc(variables, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return out, variables
}

var usedVariable = lazy.Regexp(`\benv\.(\w+)`)

// variables are those that a server's values refer to, without those that have another value when they are not set.
func (s Server) variables() (out []string) {
	texts := append([]string{s.URL, s.Cwd}, s.Command...)
	for _, p := range slices.Concat(s.Env, s.Headers) {
		if p.Variable != "" {
			out = append(out, p.Variable)
			continue
		}
		texts = append(texts, p.Value)
	}
	for _, text := range texts {
		v, _ := readValue(text, true)
		for _, part := range v {
			if part.variable != "" && part.fallback == nil {
				out = append(out, part.variable)
			}
		}
	}
	return out
}

// noteReplaced says what the client may have put a value for, and is in the block as it is.
func (p *Plugin) noteReplaced() {
	s := &p.Server
	found := replacedAnywhere().FindAllString(strings.Join(s.Command, " "), -1)
	for _, pair := range append(slices.Concat(s.Env, s.Headers), Pair{Value: s.URL}) {
		found = append(found, replacedInValues().FindAllString(pair.Value, -1)...)
	}
	slices.Sort(found)
	for _, text := range slices.Compact(found) {
		if strings.Contains(p.HCL, escapeHCL(text, false)) { // and no reference
			s.Notes = append(s.Notes, fmt.Sprintf("%s is taken over as it is: put the value there that the client uses for it",
				brief(text)))
		}
	}
}

var notInPlugin = lazy.Regexp(`[^a-z0-9]+`)

// pluginName makes the name of a server fit: small letters, digits and dashes, at most 32.
func pluginName(server string) string {
	name := strings.Trim(notInPlugin().ReplaceAllString(strings.ToLower(server), "-"), "-")
	switch {
	case name == "":
		name = "server-" + toolname.Hash(server)
	case name[0] <= '9':
		name = "s" + name
	}
	if len(name) > toolname.MaxPlugin {
		name = strings.TrimRight(name[:toolname.MaxPlugin-7], "-") + "-" + toolname.Hash(server)
	}
	return name
}

// wanted is the name of a plugin if no other server has it too.
func (o *Import) wanted(s Server) string {
	name := pluginName(s.Name)
	if slices.Contains(o.Reserved, name) {
		return name + "-mcp"
	}
	return name
}

// name is the name of a plugin that no other has.
func (o *Import) name(s Server) string {
	name := o.wanted(s)
	base := name
	for i := 2; o.names[name]; i++ {
		suffix := fmt.Sprintf("-%d", i)
		name = strings.TrimRight(base[:min(len(base), toolname.MaxPlugin-len(suffix))], "-") + suffix
	}
	o.names[name] = true
	return name
}

// refer makes a reference to a variable that has a secret, and notes where its value is. The wanted name is taken
// unless that has another value.
func (o *Import) refer(plugin, wanted, secret, held string) string {
	name := variableFrom(wanted)
	for i := 1; ; i++ {
		there, taken := o.variables[name]
		if !taken || there.secret == secret && secret != "" {
			break
		}
		if there.Held == "" && variableFrom(wanted) == wanted && i == 1 { // referred to, and written out elsewhere
			break
		}
		name = variableFrom(plugin + "_" + wanted)
		if i > 1 {
			name += fmt.Sprintf("_%d", i)
		}
	}
	v := o.variables[name]
	o.variables[name] = Variable{Name: name, Held: cmp.Or(v.Held, held), secret: cmp.Or(v.secret, secret)}
	return name
}

// secret replaces a secret by a reference, but for a word such as Bearer before it.
func (o *Import) secret(plugin, wanted, text, held string) value {
	if m := prefixed().FindStringSubmatch(text); m != nil {
		return value{{text: m[1]}, {variable: o.refer(plugin, wanted, m[2], held)}}
	}
	return value{{variable: o.refer(plugin, wanted, text, held)}}
}

// pair makes the value of a variable or a header.
func (o *Import) pair(p *Plugin, pair Pair, kind string) (value, error) {
	if pair.Variable != "" {
		if !variablePattern().MatchString(pair.Variable) || looksSecret(pair.Variable) {
			return nil, fmt.Errorf("%s %s should be the name of a variable, and looks like a value", kind, pair.Name)
		}
		return slices.DeleteFunc(value{{text: pair.Value}, {variable: pair.Variable}},
			func(p part) bool { return p.variable == "" && p.text == "" }), nil
	}
	v, err := readValue(pair.Value, true)
	if err != nil {
		return nil, err
	}
	text, literal := v.plain()
	if literal && !ordinary(text) && (redact.Setting(pair.Name) || looksSecret(text)) {
		wanted := pair.Name
		if kind == "header" {
			wanted = p.Name + "_" + map[bool]string{true: "TOKEN", false: pair.Name}[strings.EqualFold(pair.Name,
				"Authorization")]
		}
		return o.secret(p.Name, wanted, text, fmt.Sprintf("%s %s of %q", kind, pair.Name, p.Server.Name)), nil
	}
	for i, piece := range v {
		if piece.variable == "" && looksSecret(piece.text) {
			v[i] = part{variable: o.refer(p.Name, p.Name+"_SECRET", piece.text, fmt.Sprintf("%s %s of %q", kind,
				pair.Name, p.Server.Name))}
		}
	}
	return v, nil
}

var variablePattern = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

var (
	argumentHeader = lazy.Regexp(`^([A-Za-z][A-Za-z0-9-]*)(:\s*)(.+)$`)
	argumentOption = lazy.Regexp(`^(-{0,2}[A-Za-z_][A-Za-z0-9_.-]*=)(.+)$`)
)

// words makes the arguments of a command; secrets among them become references.
func (o *Import) words(p *Plugin) (out []value, err error) {
	previous := ""
	for i, word := range p.Server.Command {
		v, err := readValue(word, false)
		if err != nil {
			return nil, err
		}
		text, literal := v.plain()
		held := fmt.Sprintf("argument %d of %q", i, p.Server.Name)
		if literal && i > 0 {
			v = o.argument(p, v, text, previous, held)
		}
		previous = text
		out = append(out, v)
	}
	return out, nil
}

func (o *Import) argument(p *Plugin, v value, text, previous, held string) value {
	option := strings.HasPrefix(previous, "-") && !strings.Contains(previous, "=")
	if option && !strings.HasPrefix(text, "-") && !ordinary(text) && redact.Setting(strings.TrimLeft(previous, "-")) {
		return o.secret(p.Name, p.Name+"_"+previous, text, held)
	}
	if m := argumentOption().FindStringSubmatch(text); m != nil && !ordinary(m[2]) {
		name := strings.TrimSuffix(m[1], "=")
		if wanted := strings.TrimLeft(name, "-"); redact.Setting(wanted) || looksSecret(m[2]) {
			if wanted != name {
				wanted = p.Name + "_" + wanted
			}
			return append(value{{text: m[1]}}, o.secret(p.Name, wanted, m[2], held)...).joined()
		}
		return v
	}
	if m := argumentHeader().FindStringSubmatch(text); m != nil && !strings.HasPrefix(m[3], "//") &&
		(redact.Setting(m[1]) || looksSecret(m[3])) {
		wanted := map[bool]string{true: "TOKEN", false: m[1]}[strings.EqualFold(m[1], "Authorization")]
		return append(value{{text: m[1] + m[2]}}, o.secret(p.Name, p.Name+"_"+wanted, m[3], held)...).joined()
	}
	if strings.Contains(text, "://") {
		if out, err := secretQuery(text, func(name string) string {
			return o.refer(p.Name, p.Name+"_"+name, text+name, held)
		}); err == nil && redactor.Text(text) == text {
			return out
		}
		if redactor.Text(text) != text {
			return o.secret(p.Name, p.Name+"_URL", text, held)
		}
		return v
	}
	if looksSecret(text) && !strings.HasPrefix(text, "@") && !strings.HasPrefix(text, "/") {
		return o.secret(p.Name, p.Name+"_SECRET", text, held)
	}
	return v
}

// address makes the URL.
func (o *Import) address(p *Plugin) (value, error) {
	v, err := readValue(p.Server.URL, true)
	if err != nil {
		return nil, err
	}
	text, literal := v.plain()
	if !literal {
		for _, part := range v {
			if looksSecret(part.text) || strings.Contains(part.text, "@") {
				return nil, fmt.Errorf("its address seems to have a secret beside a reference; write it by hand")
			}
		}
		return v, nil
	}
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		return nil, fmt.Errorf("its address is not one of http or https")
	}
	return secretQuery(text, func(name string) string {
		return o.refer(p.Name, p.Name+"_"+name, text+name, fmt.Sprintf("the address of %q", p.Server.Name))
	})
}

// block writes a plugin.
func (o *Import) block(p *Plugin) (string, error) {
	s := &p.Server
	var lines []string
	attribute := func(name string, text string) { lines = append(lines, name+" = "+text) }
	if s.URL != "" {
		address, err := o.address(p)
		if err != nil {
			return "", err
		}
		attribute("url", address.hcl())
		if s.Transport == "sse" {
			attribute("transport", `"sse"`)
		}
	} else {
		words, err := o.words(p)
		if err != nil {
			return "", err
		}
		attribute("command", listHCL(words, value.hcl))
		if cwd, err := readValue(s.Cwd, false); err != nil {
			return "", err
		} else if text, _ := cwd.plain(); s.Cwd != "" && text != "." {
			attribute("cwd", cwd.hcl())
		}
	}
	for _, pairs := range []struct {
		key, kind string
		list      []Pair
	}{{"env", "env", s.Env}, {"headers", "header", s.Headers}} {
		inner, err := o.pairs(p, pairs.kind, pairs.list)
		if err != nil {
			return "", err
		}
		if len(inner) > 0 {
			lines = append(append(append(lines, pairs.key+" = {"), inner...), "}")
		}
	}
	for _, choice := range []struct {
		name string
		list []string
	}{{"include_tools", s.Include}, {"exclude_tools", s.Exclude}} {
		if len(choice.list) > 0 {
			attribute(choice.name, listHCL(choice.list, quoteHCL))
		}
	}
	for _, t := range []struct {
		name string
		is   time.Duration
	}{{"timeout", s.Timeout}, {"connect_timeout", s.ConnectTimeout}} {
		if t.is > 0 {
			attribute(t.name, quoteHCL(shortDuration(t.is)))
		}
	}
	if problem := unfit(lines); problem != "" {
		return "", fmt.Errorf("%s", problem)
	}
	return o.write(p, lines), nil
}

func (o *Import) pairs(p *Plugin, kind string, list []Pair) (lines []string, err error) {
	seen := map[string]bool{}
	for _, pair := range list {
		v, err := o.pair(p, pair, kind)
		if err != nil {
			return nil, err
		}
		name := pair.Name
		if seen[name] {
			return nil, fmt.Errorf("%s %s is there twice", kind, brief(name))
		}
		seen[name] = true
		if !variablePattern().MatchString(name) {
			name = quoteHCL(name)
		}
		lines = append(lines, "  "+name+" = "+v.hcl())
	}
	return lines, nil
}

// unfit says what of the lines no configuration takes: they are refused there, and one entry must not cost the others.
func unfit(lines []string) string {
	for _, line := range lines {
		if strings.Contains(line, `\u0000`) {
			return "it has a NUL character"
		}
		if len(line) > 16<<10 {
			return fmt.Sprintf("a value has %d bytes", len(line))
		}
	}
	return ""
}

// downloaders download a server at its first start, which takes longer than a host waits by default.
var downloaders = []string{"npx", "pnpx", "bunx", "uvx", "uv", "pipx", "docker", "podman"}

func (o *Import) write(p *Plugin, lines []string) string {
	var out strings.Builder
	if p.Name != p.Server.Name {
		name, _ := textutil.Visible(textutil.CutRunes(p.Server.Name, 80, "…"), unicode.ReplacementChar)
		fmt.Fprintf(&out, "# %s\n", strings.Join(strings.Fields(name), " "))
	}
	fmt.Fprintf(&out, "plugin %q {\n  command = [%s]\n", p.Name, quoteHCL(o.Program))
	if command := p.Server.Command; len(command) > 0 && slices.Contains(downloaders, command[0]) {
		out.WriteString("  start_timeout = \"2m\" # a first start downloads the server\n")
	}
	out.WriteString("  config {\n")
	for _, line := range aligned(lines) {
		fmt.Fprintf(&out, "    %s\n", line)
	}
	out.WriteString("  }\n}\n")
	if !p.Server.Disabled {
		return out.String()
	}
	var off strings.Builder
	for line := range strings.Lines(out.String()) {
		off.WriteString(strings.TrimRight("# "+line, " "))
	}
	return "# disabled in the client:\n" + off.String()
}

// aligned puts the = of attributes on lines after each other below each other.
func aligned(lines []string) []string {
	out := slices.Clone(lines)
	for i := 0; i < len(out); i++ {
		n, widest := i, 0
		for ; n < len(out) && plainAttribute().MatchString(out[n]); n++ {
			widest = max(widest, len(plainAttribute().FindStringSubmatch(out[n])[1]))
		}
		for ; i < n; i++ {
			m := plainAttribute().FindStringSubmatch(out[i])
			out[i] = m[1] + strings.Repeat(" ", widest-len(m[1])) + m[2]
		}
	}
	return out
}

// plainAttribute is one on a line, also within another one.
var plainAttribute = lazy.Regexp(`^( *(?:\w+|"(?:[^"\\]|\\.)*"))( = [^{].*)$`)

func listHCL[T any](list []T, hcl func(T) string) string {
	var out []string
	for _, item := range list {
		out = append(out, hcl(item))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// shortDuration writes a time in one unit.
func shortDuration(d time.Duration) string {
	switch {
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", max(d/time.Millisecond, 1))
}
