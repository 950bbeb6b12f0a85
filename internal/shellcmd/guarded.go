package shellcmd

import (
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk/filenames"
)

// secret reports paths that by their names hold keys or passwords, folders of such, and patterns that are made for them.
func secret(x Word) bool {
	if x.kind == glob && filenames.SecretPattern(x.Text) {
		return true
	}
	const anything = "/a.go" // which is code, and so secret only where everything is
	return filenames.Secret(x.Text) || filenames.Secret(x.Text+anything)
}

// writers are programs that change the files in their operands, or make them.
var writers = strings.Fields("cp mv tee install ln link touch dd truncate rsync scp patch mkdir mkfifo mknod rm rmdir unlink shred chmod chown chgrp chattr setfacl " +
	"split csplit tar unzip cpio ed ex vi vim nano emacs sponge rename prename mmv sed perl sort curl wget git")

// gitKeeps are the sub-commands of git that leave the files in their operands as they are.
var gitKeeps = strings.Fields("add stage commit push blame log diff show status ls-files check-ignore fetch")

// guarded says why a rule that allows a program does not cover what it may write to: files that others run or follow without
// being asked, which a person is asked about when an edit changes them too.
func guarded(c *Command, prefix []string, p place) string {
	s, sub := c.find()
	if s != nil && s.read && (sub > 0 || !tabled()[c.Name]) && !slices.ContainsFunc(prefix[1:], func(token string) bool { return strings.HasPrefix(token, "-") }) {
		return "" // it only reads; an option that the rule lists, as -i of sed, may make it write
	}
	if c.Name == "git" && len(prefix) > 1 && slices.Contains(gitKeeps, prefix[1]) {
		return ""
	}
	if why := p.overwrites(c); why != "" {
		return why
	}
	if slices.Contains(writers, c.Name) {
		return p.changes(c, filenames.EntryPoint, " is what builds, tests, CI or agents run or follow")
	}
	return ""
}

// overwrites says which of a command's operands other programs run or follow.
func (p place) overwrites(c *Command) string {
	return p.changes(c, filenames.AutoExecuted, " is run or followed by other programs without being asked")
}

func (p place) changes(c *Command, is func(name string) bool, why string) string {
	for _, a := range c.Args {
		text := a.Text
		if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "of=") {
			_, text, _ = strings.Cut(text, "=") // of an option, or of dd
		}
		if text == "" {
			continue
		}
		if slices.ContainsFunc(p.names(text), is) {
			return text + why
		}
	}
	return ""
}

// names are the paths that an operand may mean, relative to the workspace where they are in it.
func (p place) names(text string) (out []string) {
	for _, d := range p.dirs {
		full := joined(d, text)
		if p.root != "/" {
			full = strings.TrimPrefix(full, p.root+"/")
		}
		out = append(out, full)
	}
	if len(p.dirs) == 0 {
		out = append(out, path.Clean(text))
	}
	return out
}
