package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A command is a program and its arguments.
type command struct {
	words   []string // as written
	program string   // the file to run, or a name to find in the PATH
}

func (c command) none() bool { return len(c.words) == 0 }

// with is the command with one more word at its end.
func (c command) with(word string) command {
	c.words = append(slices.Clip(c.words), word)
	return c
}

// String writes the command so that it can be read, and split again.
func (c command) String() string {
	words := make([]string, len(c.words))
	for i, w := range c.words {
		words[i] = w
		if retry, err := splitWords("x " + w); err != nil || len(retry) != 2 || retry[1] != w || i == 0 &&
			assignment.MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// in is the command ready to run in a folder, and to be ended within the limits.
func (c command) in(dir string, l proctree.Limits) *proctree.Cmd {
	cmd := proctree.Command(c.program, c.words[1:]...)
	cmd.Dir, cmd.Env, cmd.Grace = dir, append(proctree.Environ(), "PWD="+dir), l.Grace
	return cmd
}

// short is String for messages, which arguments must not fill.
func (c command) short() string {
	text := c.String()
	if len(text) <= shownInMessage {
		return text
	}
	return textutil.Cut(text, shownInMessage) + "..."
}

// whyNot says why the command could not be run, or not to its end, and what to do.
func (c command) whyNot(err error, workdir string) string {
	e, ok := errors.AsType[*proctree.StartError](err)
	if !ok {
		return err.Error()
	}
	text := fmt.Sprintf("%s cannot be run: %s", e.Path, e.Reason)
	if errors.Is(err, fs.ErrNotExist) && !fsutil.HasFolder(c.program) {
		if _, err := os.Stat(filepath.Join(workdir, c.program)); err == nil {
			text += "; for the file of that name in the work folder write ./" + c.program
		}
	}
	return text
}

// readCommand reads a command from the configuration; a missing one has no words. A program with a path is relative to
// workdir.
func readCommand(key string, raw json.RawMessage, workdir string) (command, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || string(trimmed) == "null" {
		return command{}, nil
	}
	words, err := commandWords(raw, workdir)
	switch {
	case err != nil:
	case len(words) == 0 || strings.TrimSpace(words[0]) == "":
		err = errors.New("it is empty; name a program")
	default:
		if i := slices.IndexFunc(words, func(w string) bool { return strings.ContainsRune(w, 0) }); i >= 0 {
			err = fmt.Errorf("the word %q has a NUL character", words[i])
		}
	}
	if err != nil {
		return command{}, invalidConfig("%s = %.200s: %v", key, raw, err)
	}
	return command{words: words, program: programAt(words[0], workdir)}, nil
}

// programAt is where a program with a path is. An absolute path stays as it is: .. may follow a link in it.
func programAt(name, workdir string) string {
	if fsutil.HasFolder(name) && !filepath.IsAbs(name) {
		return filepath.Join(workdir, name)
	}
	return name
}

// commandWords takes a string that names a file to run, as a whole, for that file, whatever characters it has: Gemini
// CLI splits no call command either.
func commandWords(raw json.RawMessage, workdir string) (words []string, err error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if fsutil.HasFolder(text) && fsutil.IsProgram(programAt(text, workdir)) {
			return []string{text}, nil
		}
		return splitWords(text)
	}
	if json.Unmarshal(raw, &words) != nil {
		return nil, errors.New("it must be a string or a list of strings")
	}
	return words, nil
}

// A splitter cuts a command line into words.
type splitter struct {
	text string
	at   int // the next byte
	word strings.Builder
	open bool // a word has begun, maybe an empty one
	out  []string
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// splitWords splits a command line into words the way a shell does, with quotes and backslashes. What a shell would do
// beyond that is an error: there is no shell here, and leaving it out would run something else than was written.
func splitWords(commandLine string) ([]string, error) {
	s := splitter{text: commandLine}
	for s.at < len(s.text) {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	s.end()
	if len(s.out) > 0 && assignment.MatchString(commandLine[len(commandLine)-len(strings.TrimLeft(commandLine,
		" \t\r\n")):]) {
		return nil, fmt.Errorf("%s sets a variable, which only a shell does here; it is not run through a shell; write env "+
			"%s in front, or a script", s.out[0], s.out[0])
	}
	return s.out, nil
}

// step reads one character, or what is in quotes.
func (s *splitter) step() error {
	c := s.text[s.at]
	s.at++
	switch c {
	case ' ', '\t', '\n', '\r':
		s.end()
	case '\'':
		return s.single()
	case '"':
		return s.double()
	case '\\':
		return s.escape()
	default:
		if strings.IndexByte("|&;<>()$`*?", c) >= 0 || strings.IndexByte("#~", c) >= 0 && !s.open {
			return s.shellOnly(c)
		}
		s.add(c)
	}
	return nil
}

func (s *splitter) add(c byte) {
	s.word.WriteByte(c)
	s.open = true
}

func (s *splitter) end() {
	if s.open {
		s.out = append(s.out, s.word.String())
	}
	s.word.Reset()
	s.open = false
}

func (s *splitter) shellOnly(c byte) error {
	return fmt.Errorf("%q at character %d means something to a shell, but it is not run through a shell; write a "+
		"script, or quote it ('%c') to mean the character itself", rune(c), utf8.RuneCountInString(s.text[:s.at]), c)
}

func (s *splitter) single() error {
	n := strings.IndexByte(s.text[s.at:], '\'')
	if n < 0 {
		return fmt.Errorf("the ' at character %d is not closed", utf8.RuneCountInString(s.text[:s.at]))
	}
	s.word.WriteString(s.text[s.at : s.at+n])
	s.open = true
	s.at += n + 1
	return nil
}

func (s *splitter) double() error {
	s.open = true
	for begin := s.at; ; {
		if s.at >= len(s.text) {
			return fmt.Errorf("the \" at character %d is not closed", utf8.RuneCountInString(s.text[:begin]))
		}
		c := s.text[s.at]
		s.at++
		switch {
		case c == '"':
			return nil
		case c == '$' || c == '`':
			return s.shellOnly(c)
		case c == '\\' && s.at < len(s.text) && strings.IndexByte("$`\"\\\n", s.text[s.at]) >= 0:
			if c = s.text[s.at]; c != '\n' {
				s.add(c)
			}
			s.at++
		default:
			s.add(c)
		}
	}
}

// escape takes the next character literally; a line break after a backslash is nothing at all.
func (s *splitter) escape() error {
	if s.at >= len(s.text) {
		return errors.New("it ends with a \\ that has nothing behind it")
	}
	if c := s.text[s.at]; c != '\n' {
		s.add(c)
	}
	s.at++
	return nil
}
