package shellcmd

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Script is a command text, taken apart.
type Script struct {
	Text string
	// Commands holds every simple command in the text, in its order: also those in pipes, lists, substitutions, groups,
	// functions, behind wrappers, in the strings of sh -c, and in here-documents for a shell. Of programs that run what they are
	// given, such as tmux or perl -e, it holds what they may run, as far as that can be read, found in "perhaps NAME". A construct
	// that is more than its parts, such as a function, a background mark or a group with a redirect, is there under its keyword.
	Commands []Command

	bomb   string            // what starts processes without end
	values map[string]string // that variables are set to, as far as they are known
}

// A Command is one simple command.
type Command struct {
	// Name is the base name of the program, after unquoting and cleaning its path; "" when it is only known when it runs, or
	// when variables are set and nothing is run.
	Name string
	// Program is the program as written, and Args what follows it.
	Program Word
	Args    []Word
	// Assigns are the variables that are set before it, by name.
	Assigns   []string
	Redirects []Redirect
	// Via is what it was found in, outermost first, such as "env", "sh -c" or "$(...)".
	Via []string
	// Text is the command as it stands in the text, on one line and at most some 160 characters long.
	Text string
	// Fed says what puts names of files into it that are only known when it runs, such as xargs; "" if nothing does.
	Fed string
	// Doubts are what cannot be determined about it, each a short phrase; none means that all is known.
	Doubts []string

	built bool     // it stands for a construct
	shows bool     // what is set for it changes only how it orders and shows things
	sets  bool     // it is nothing but assignments to variables that no program looks at
	grave bool     // one of the doubts is about what would run
	moved bool     // git has -C, which dirs have followed
	kept  []Word   // of find: the arguments without the commands in them; nil for all
	maybe bool     // it is a guess at what another command runs
	dirs  []string // the folders it may run in, relative to the first one or absolute
}

// A RefusedError says why a text was not taken apart. Nobody should allow such a text by a rule.
type RefusedError struct {
	Offset int // the byte where the trouble is
	Reason string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the command is not understood: %s, at byte %d", e.Reason, e.Offset)
}

// Parse takes a command text apart, as bash would read it. The error is a *RefusedError: the text is not UTF-8, or over
// 16 KiB, or holds characters that people cannot see, or is nested too deeply, or is no text that bash is sure to accept.
func Parse(text string) (*Script, error) {
	s, err := parse(text)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// parse gives, with an error, the commands before the trouble: bash runs a text line by line, and so would run them.
func parse(text string) (s *Script, err error) {
	s = &Script{Text: text}
	if err := gate(text); err != nil {
		return s, err
	}
	w := &walker{src: text, all: &collected{}}
	defer func() {
		s.Commands, s.bomb, s.values = w.all.commands, w.all.bomb, w.all.values
		if w.all.guesses > maxGuesses && len(s.Commands) > 0 {
			s.Commands[0].graveDoubt("more may be run in it than can be looked at")
		}
		if p := recover(); p != nil { // the parser is a stranger's; nothing may end the host
			err = &RefusedError{Reason: "the parser failed on it"}
		}
	}()
	w.text([]string{""})
	if w.all.err != nil {
		return s, w.all.err
	}
	return s, nil
}

// statements are those that could be read, and the trouble after them.
func statements(text string) (list []*syntax.Stmt, err error) {
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(text), "")
	if err != nil {
		return file.Stmts, refusedSyntax(err)
	}
	if e := readDifferently(text, file); e != nil {
		return file.Stmts, e
	}
	return file.Stmts, nil
}

// readDifferently finds what the parser and bash do not read alike.
func readDifferently(text string, file *syntax.File) error {
	if at := oddComment(text, file); at >= 0 {
		return &RefusedError{Offset: at, Reason: "bash may not take this # for the start of a comment"}
	}
	if at := longComment().FindStringIndex(text); at != nil {
		return &RefusedError{Offset: at[0], Reason: "a line with # ends with a backslash, and the comment may or may not go on"}
	}
	if at := joinedLine().FindStringIndex(text); at != nil {
		return &RefusedError{Offset: at[0], Reason: "a backslash joins two lines inside of a word; a blank before it helps"}
	}
	return nil
}

// joinedLine is a line that goes on in the next one without a blank before the backslash: $\ and ( in the next line are $( to
// bash, and two things to the parser.
var joinedLine = lazily(`(^|[^ \t\n\\])(\\\\)*\\\n|[ \t\n](\\\\)+\\\n`)

// longComment may be a comment that the parser, unlike bash, takes for one that goes on in the next line.
var longComment = lazily(`#[^\n]*\\\n`)

// oddComment finds what the parser takes for a comment in the middle of a word; -1 when there is none. To bash only what
// begins a word is one.
func oddComment(text string, file *syntax.File) (at int) {
	at = -1
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			i := int(c.Hash.Offset())
			if i > 0 && i <= len(text) && !strings.ContainsRune(" \t\n;&|()", rune(text[i-1])) {
				at = i
			}
		}
		return at < 0
	})
	return at
}

func refusedSyntax(err error) *RefusedError {
	if e, ok := errors.AsType[syntax.ParseError](err); ok {
		return &RefusedError{Offset: int(e.Pos.Offset()), Reason: e.Text}
	}
	if e, ok := errors.AsType[syntax.LangError](err); ok {
		return &RefusedError{Offset: int(e.Pos.Offset()), Reason: e.Feature + " is not for bash"}
	}
	return &RefusedError{Reason: err.Error()}
}
