package shellcmd

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// This file is what commands print of the texts that they read, for the floor: cat, base64 -d, tr, sed.

// streamed is the text that some commands pass on, perhaps decoded.
func streamed(list []Command) (text string) {
	for n := 0; n < len(list); n++ {
		c := &list[n]
		if c.maybe {
			continue
		}
		if strings.Contains(textOf(c.Args), "<(") { // which it reads
			inner := substituted(list, n)
			text, n = text+streamed(inner), n+len(inner)
		}
		prints := cmp.Or(c.prints(textsOf(c.Args)), c.document())
		switch {
		case prints != "" && len(c.Via) > 0 && c.Via[len(c.Via)-1] == "xargs":
			text = prints + " " + text
		case c.Name == "echo":
			text = decoded(c, text+prints+"\n")
		default:
			text = decoded(c, text+prints)
		}
	}
	return text
}

// copying are programs that write what they read, or what is in the files of their words.
const copying lazy.Words = "tee cat sponge base64 cp mv ln install dd"

// writtenText is the text that the command at i is sure to write, also one that it reads from a few others.
func writtenText(all []Command, i int) string {
	c := &all[i]
	text := c.prints(textsOf(c.Args))
	if in := c.input; text == "" && in.to-in.from < 8 && copying.Has(c.Name) {
		text = decoded(c, streamed(all[in.from:in.to]))
	}
	if text == "" && copying.Has(c.Name) && strings.Contains(textOf(c.Args), "<(") {
		text = streamed(substituted(all, i))
	}
	return text
}

// decoded is what a command prints that reads a text.
func decoded(c *Command, text string) string {
	decodes := givenOption(c.Args, "-d -D --decode -r")
	var out []byte
	var err error
	switch {
	case decodes && (c.Name == "base64" || c.Name == "openssl"):
		out, err = base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	case decodes && c.Name == "xxd":
		out, err = hex.DecodeString(strings.TrimSpace(text))
	case c.Name == "rev":
		out = []byte(text)
		slices.Reverse(out)
	case c.Name == "tr":
		return translated(c.Args, text)
	case c.Name == "sed" || c.Name == "gsed":
		return edited(c, text)
	case c.Name == "xargs" && len(c.Args) == 0:
		return strings.Join(strings.Fields(text), " ")
	case c.Name == "paste" && len(c.Args) > 1: // several files line by line, or all lines of one
		return text + "\n" + strings.Join(strings.Fields(text), " ")
	default:
		return text
	}
	if err != nil {
		return ""
	}
	return string(out)
}

// translated is a text as tr changes it.
func translated(args []Word, text string) string {
	options := ""
	for len(args) > 0 && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
		options, args = options+args[0].Text, args[1:]
	}
	if len(args) == 0 {
		return text
	}
	from, to := letters(args[0].Text), letters(textOf(args[1:]))
	others := strings.ContainsAny(options, "cC")
	return strings.Map(func(r rune) rune {
		at := slices.Index(from, r)
		switch {
		case (at >= 0) == others:
			return r
		case strings.Contains(options, "d"):
			return -1
		case len(to) == 0: // -s
			return r
		case others:
			at = len(to)
		}
		return to[min(at, len(to)-1)]
	}, text)
}

var letterClasses = strings.NewReplacer("[:lower:]", "a-z", "[:upper:]", "A-Z", "[:alpha:]", "A-Za-z", "[:digit:]", "0-9",
	"[:alnum:]", "0-9A-Za-z", "[:blank:]", " \t", "[:space:]", "\t-\r ", "[:graph:]", "!-~", "[:print:]", " -~",
	"[:punct:]", "!-/:-@[-`{-~", "[:cntrl:]", "\x00-\x1f\x7f", "[:xdigit:]", "0-9A-Fa-f")

// letters are those that a set of tr stands for.
func letters(set string) (out []rune) {
	set, _ = ansi(letterClasses.Replace(set))
	runes := []rune(set)
	for i := 0; i < len(runes); i++ {
		out = append(out, runes[i])
		if i+2 < len(runes) && runes[i+1] == '-' && runes[i+2] > runes[i] && runes[i+2] <= 0x7f {
			for r := runes[i] + 1; r <= runes[i+2]; r++ {
				out = append(out, r)
			}
			i += 2
		}
	}
	return out
}

// edited is a text as sed changes it with expressions such as s/a/b/; others leave it as it is.
func edited(c *Command, text string) string {
	was := text
	if len(c.Args) > maxWords {
		return was
	}
	for _, a := range c.Args {
		if a.Text == "-e" || a.Text == "-E" || a.Text == "-r" {
			continue
		}
		m := substitution().FindStringSubmatch(a.Text)
		if m == nil || len(a.Text) > maxShown {
			return was
		}
		parts := strings.Split(strings.ReplaceAll(m[2], `\`+m[1], "\x00"), m[1])
		if len(parts) != 3 || parts[2] != "" && parts[2] != "g" || !plainPattern().MatchString(parts[0]) {
			return was
		}
		e, err := regexp.Compile(strings.ReplaceAll(parts[0], "\x00", m[1]))
		if err != nil {
			return was
		}
		to := strings.NewReplacer("$", "$$", "\x00", m[1], `\&`, "&", "&", "${0}", `\n`, "\n").Replace(parts[1])
		lines := strings.Split(text[:min(len(text), maxText)], "\n")
		for i, line := range lines {
			if at := e.FindStringIndex(line); at != nil && parts[2] == "" {
				lines[i] = e.ReplaceAllString(line[:at[1]], to) + line[at[1]:]
			} else if line != "" || i == 0 || i+1 < len(lines) { // behind the last line there is none
				lines[i] = e.ReplaceAllString(line, to)
			}
		}
		text = strings.Join(lines, "\n")
	}
	return text
}

var (
	substitution = lazy.Regexp(`^s([/|,#@:!%;~_])(.+)$`)
	// plainPattern has the same meaning in all kinds of regular expressions.
	plainPattern = lazy.Regexp(`^\^?(([^][*\\+?(){}|^$]|\[\^?[\w./-]+\])\*?)*\$?$`)
)
