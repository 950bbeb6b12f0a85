package editbench

// Around is the part of Data that the edit is about, and Untouched are the lines of Want there that it leaves alone;
// for the tests of the truths.
func (c *Case) Around() (start, end int) { return c.start, c.end }

// Untouched returns those lines with their endings, and whether the case has them at all.
func (c *Case) Untouched() (lines []string, ok bool) {
	for _, o := range c.after {
		if !o.touched {
			lines = append(lines, o.line.text+o.line.eol)
		}
	}
	return lines, c.end > 0
}
