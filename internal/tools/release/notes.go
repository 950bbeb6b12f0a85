package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// printNotes prints the section of the changelog about a version, without its title. A version that has none, such as
// one that is tried out, has the section of what is not released.
func printNotes(w io.Writer, version, changelog string) error {
	text, err := os.ReadFile(changelog)
	if err != nil {
		return err
	}
	sections := map[string]string{}
	for _, section := range strings.Split("\n"+string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		title, _, _ = strings.Cut(strings.TrimSpace(title), " ") // a date may follow
		sections[strings.Trim(title, "[]v")] = strings.TrimSpace(body)
	}
	body, there := sections[version]
	if !there {
		if body, there = sections["Unreleased"]; !there {
			return fmt.Errorf("%s has no section for %s, and none of what is not released", changelog, version)
		}
	}
	_, err = fmt.Fprintf(w, "# toolhost %s\n\n%s\n", version, body)
	return err
}
