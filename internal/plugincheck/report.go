package plugincheck

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
)

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	counts := map[Status]int{}
	if r.Plugin != "" {
		fmt.Fprintf(&b, "%s\n\n", visible(r.Plugin))
	}
	for i, f := range r.Findings {
		counts[f.Status]++
		if f.Status == Skip && i > 0 && r.Findings[i-1].Message == f.Message { // for the same reason
			continue
		}
		fmt.Fprintf(&b, "%-4s  %s", f.Status, f.Title)
		if f.Took >= 100*time.Millisecond {
			fmt.Fprintf(&b, " (%.1f s)", f.Took.Seconds())
		}
		b.WriteByte('\n')
		if f.Message != "" {
			fmt.Fprintf(&b, "      %s\n", strings.ReplaceAll(visible(f.Message), "\n", "\n      "))
		}
		if f.Fix != "" && f.Status != Pass {
			fmt.Fprintf(&b, "      Fix: %s\n", f.Fix)
		}
	}
	fmt.Fprintf(&b, "\n%d passed, %d failed, %s, %d skipped\n", counts[Pass], counts[Fail],
		textutil.Count(counts[Warn], "warning"), counts[Skip])
	_, err := io.WriteString(w, b.String())
	return err
}

// JUnit writes the report as the XML that CI systems read: a warning is a test case that passes, with its text.
func (r *Report) JUnit(w io.Writer) error {
	type text struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testcase struct {
		Name    string  `xml:"name,attr"`
		Class   string  `xml:"classname,attr"`
		Seconds string  `xml:"time,attr"`
		Failure *text   `xml:"failure"`
		Skipped *text   `xml:"skipped"`
		Out     *string `xml:"system-out"`
	}
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testcase `xml:"testcase"`
	}{Name: "toolhost plugin check", Tests: len(r.Findings)}
	for _, f := range r.Findings {
		c := testcase{Name: f.Title, Class: "plugin." + f.Item, Seconds: fmt.Sprintf("%.3f", f.Took.Seconds())}
		switch message := visible(f.Message); f.Status {
		case Fail:
			suite.Failures++
			c.Failure = &text{message, f.Fix}
		case Skip:
			suite.Skipped++
			c.Skipped = &text{Message: message}
		case Warn:
			out := message + "\n" + f.Fix
			c.Out = &out
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
