package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/agext/levenshtein"

	"github.com/toolhost/toolhost/sdk"
)

// Explain converts an error of the operating system, such as one of reading an open file, to an *sdk.Error about
// path: FileNotFound, PermissionDenied, NotADirectory, InvalidPath or IOError. It returns other errors unchanged:
// nil, an *sdk.Error, and those of a context that ended.
func Explain(path string, err error) error {
	if _, ok := errors.AsType[*sdk.Error](err); ok || err == nil || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		err = e // its text without the names, which the message has
	}
	name := failure(err)
	return &sdk.Error{Name: name, Message: fmt.Sprintf("%s: %v", quote(path), err), Suggestion: systemAdvice[name]}
}

// explainWrite is Explain for what the system says to a write, after which all is as it was.
func explainWrite(path string, err error) error {
	if _, ok := errors.AsType[*sdk.Error](err); ok || err == nil {
		return err
	}
	name := failure(err)
	e := &sdk.Error{Name: name, Message: Explain(path, err).Error() + "; nothing was written",
		Suggestion: systemAdvice[name]}
	switch {
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		e.Suggestion = "The disk, or what of it may be used, is full: have room made, then repeat the call."
	case errors.Is(err, syscall.EBUSY):
		e.Suggestion = "Something is mounted on it, so that it cannot be replaced: write to it in place, such as with a " +
			"shell tool."
	}
	return e
}

// systemAdvice is what to do about an error of the system, by its name.
var systemAdvice = map[string]string{
	"FileNotFound":     "List the directory to see what is there.",
	"PermissionDenied": "Do without it, or have its permissions changed first.",
	"NotADirectory":    "List the directory above it: a part of the path is a file.",
	"InvalidPath":      "Check the path: a name in it is too long, or has characters that the system does not take.",
	"IOError":          "Try again. If it fails again, the file or its disk cannot be used: tell the user.",
}

func failure(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "FileNotFound"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "PermissionDenied"
	case errors.Is(err, syscall.ENOTDIR):
		return "NotADirectory"
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL):
		return "InvalidPath"
	}
	return "IOError"
}

// Regular returns nil when the place is a regular file with any read permission, and otherwise the error:
// FileNotFound, IsADirectory, NotARegularFile or PermissionDenied. A mode without read permission is refused for the
// superuser too.
func (p *Place) Regular() error {
	switch {
	case p.Info == nil:
		return p.notFound()
	case p.Info.IsDir():
		return &sdk.Error{Name: "IsADirectory", Message: quote(p.Path) + " is a directory",
			Suggestion: "Name a file in it; a list tool shows what is there."}
	case !p.Info.Mode().IsRegular():
		return &sdk.Error{Name: "NotARegularFile", Message: fmt.Sprintf("%s is a %s, not a regular file", quote(p.Path),
			Kind(p.Info.Mode())), Suggestion: notRegularAdvice(p.Info.Mode())}
	case p.Info.Mode().Perm()&0o444 == 0:
		return &sdk.Error{Name: "PermissionDenied", Message: fmt.Sprintf("no user may read %s (mode %04o)", quote(p.Path),
			p.Info.Mode().Perm()), Suggestion: "Do without it, or have its mode changed first, such as with chmod u+r."}
	}
	return nil
}

func notRegularAdvice(m fs.FileMode) string {
	if m&fs.ModeSymlink != 0 {
		return "Name the file that the link leads to."
	}
	return "File tools use regular files only. If it must be used, run a program on it through a shell tool, with a " +
		"time limit."
}

// writable is Regular for a file to write: replacing a read-only file by renaming another onto it would work, and is
// not what its mode asks for.
func (p *Place) writable() error {
	if err := p.Regular(); err != nil {
		return err
	}
	if p.Info.Mode().Perm()&0o222 == 0 {
		return &sdk.Error{Name: "PermissionDenied", Message: fmt.Sprintf("%s is read-only (mode %04o)", quote(p.Path),
			p.Info.Mode().Perm()),
			Suggestion: "Leave it, or have its mode changed first."}
	}
	return nil
}

func (p *Place) directory() error {
	switch {
	case p.Info == nil:
		return p.notFound()
	case !p.Info.IsDir():
		return notADirectory(p.Path)
	}
	return nil
}

func notADirectory(path string) error {
	return &sdk.Error{Name: "NotADirectory", Message: quote(path) + " is a file, not a directory",
		Suggestion: "Name the file itself, or the directory it is in."}
}

// notFound says which part of the path is missing, and which names there come near.
func (p *Place) notFound() error {
	message := fmt.Sprintf("there is no file %s in the workspace %s", quote(p.Path), p.root.dir)
	if p.Missing != "" {
		message += fmt.Sprintf("; its directory %s does not exist", quote(p.Missing))
	}
	return &sdk.Error{Name: "FileNotFound", Message: message,
		Suggestion: strings.TrimSpace("List the directory to see what is there. " + p.DidYouMean())}
}

func quote(s string) string { return strconv.Quote(s) }

// quoteShort is quote for a path that may be too long to be read.
func quoteShort(s string) string {
	const most = 200
	if len(s) <= most {
		return quote(s)
	}
	return quote(strings.ToValidUTF8(s[:most/2], "")) + "..." + quote(strings.ToValidUTF8(s[len(s)-most/2:], ""))
}

const maxCompared = 2000 // names in one folder

// DidYouMean asks with up to three paths whose names are like the one that does not exist, such as
//
//	Did you mean "src/main.go"?
//
// for the suggestion of an error. It is empty when no name comes near, and for a place where something is.
func (p *Place) DidYouMean() string {
	if p.gap == "" {
		return ""
	}
	folder, wanted := filepath.Split(p.gap)
	names, err := p.root.names(filepath.Clean(folder), maxCompared)
	if err != nil {
		return "" // only a hint
	}
	distance := func(name string) int {
		if utf8.ValidString(name) {
			return editDistance(wanted, name)
		}
		return min(editDistance(wanted, name), editDistance(wanted, strings.Trim(quote(name), `"`))) // as tools show it
	}
	names = slices.DeleteFunc(names, func(n string) bool { return distance(n) > max(2, utf8.RuneCountInString(wanted)/3) })
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), strings.Compare(a, b))
	})
	if len(names) == 0 {
		return ""
	}
	if best := names[0]; !utf8.ValidString(best) { // JSON has no way to write it
		return fmt.Sprintf("%s is there, but its name is not UTF-8 and cannot be given to this tool: rename it, or use a "+
			"shell tool.", quote(p.root.shown(filepath.Join(folder, best))))
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !utf8.ValidString(n) })
	var near []string
	for _, n := range names[:min(len(names), 3)] {
		near = append(near, quote(p.root.shown(filepath.Join(folder, n))))
	}
	return "Did you mean " + strings.Join(near, " or ") + "?"
}

// editDistance is the number of letters to add, drop or change to make one name of the other, whatever their case. A
// name with another ending counts as one.
func editDistance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if a != b && strings.TrimSuffix(a, filepath.Ext(a)) == strings.TrimSuffix(b, filepath.Ext(b)) {
		return 1
	}
	return levenshtein.Distance(a, b, nil)
}
