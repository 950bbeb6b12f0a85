package shellcmd

import "slices"

// GitFolders gives the folders in which a text runs git for reading, as absolute paths. Git reads the settings of the repository
// there, and those can name programs: whoever runs such a text unasked must turn them off. It gives none when a command of the
// text has doubts, changes something with git, or runs what is in the project: such a text runs because a person or a rule
// wants these effects, hooks and filters among them.
func GitFolders(text string, c Context) (folders []string) {
	s, err := parse(text)
	if err != nil || len(c.Env) > 0 {
		return nil
	}
	for i := range s.Commands {
		part := &s.Commands[i]
		if len(part.Doubts) > 0 || unseen(part) != "" {
			return nil
		}
		if part.Name != "git" {
			continue
		}
		p := c.place(part.dirs)
		if onlyReads(part, p) != "" {
			return nil
		}
		for _, d := range p.dirs {
			if usesSettings(part) && !slices.Contains(folders, d) {
				folders = append(folders, d)
			}
		}
	}
	return folders
}

// usesSettings reports a command of git that acts on settings, and does not only show them.
func usesSettings(c *Command) bool {
	args := c.plainArgs()
	return len(args) > 0 && !slices.Contains([]string{"config", "version", "--version"}, args[0].Text)
}
