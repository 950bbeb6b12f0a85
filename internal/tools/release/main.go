// Command release does the parts of a release that a shell script would do differently on each machine: archives with
// the same bytes for the same content, a bill of materials, and notes from the changelog. See .ci/release.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

const usage = `usage:
  release pack ARCHIVE FOLDER        packs a folder, as .tar.gz or .zip by the archive's name
  release sbom NAME VERSION FOLDER   prints the bill of materials of the Go programs in a folder, as CycloneDX JSON
  release notes VERSION CHANGELOG    prints the section of a version, else that of what is not released
The times in archives are those of SOURCE_DATE_EPOCH, in seconds since 1970.
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	at, err := epoch()
	switch {
	case err != nil:
		return err
	case len(args) == 3 && args[0] == "pack":
		return pack(args[1], args[2], at)
	case len(args) == 4 && args[0] == "sbom":
		return printSBOM(os.Stdout, args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "notes":
		return printNotes(os.Stdout, args[1], args[2])
	}
	return fmt.Errorf("%s", usage)
}

// epoch is the time of everything that is packed.
func epoch() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

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
