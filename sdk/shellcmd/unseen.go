package shellcmd

// unseen says why a command runs what its words do not show, "" if it does not: a file, or what a project holds. A rule can
// allow such a command by name; it is never allowed as one of the others.
func unseen(c *Command) string {
	if s := c.spec(); s != nil && s.builds {
		return "it runs what the project holds"
	}
	return ""
}
