package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/server/console"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// A bom is a bill of materials, as https://cyclonedx.org/docs/1.6/json/ says. It has no time and no random number, so
// that the same programs give the same bytes.
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
	Depends    []depends   `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type depends struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// printSBOM lists the Go programs in a folder, and the modules that each was built from.
func printSBOM(w io.Writer, name, version, folder string) error {
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Components: []component{},
		Metadata: metadata{component{Type: "application", Ref: name, Name: name, Version: version}}}
	modules := map[string]component{}
	all := depends{Ref: name, On: []string{}}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if !e.Type().IsRegular() {
			continue
		}
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		program, err := programOf(path, version, info)
		if err != nil {
			return err
		}
		uses := depends{Ref: program.Ref, On: []string{}}
		for _, m := range append(info.Deps,
			&debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}) {
			c := moduleOf(m)
			modules[c.Ref], uses.On = c, append(uses.On, c.Ref)
		}
		for _, c := range npmOf(info.Path) {
			modules[c.Ref], uses.On = c, append(uses.On, c.Ref)
		}
		slices.Sort(uses.On)
		b.Components, b.Depends, all.On = append(b.Components, program), append(b.Depends, uses), append(all.On, program.Ref)
	}
	if len(b.Components) == 0 {
		return errors.New(folder + " has no programs")
	}
	for _, c := range modules {
		b.Components = append(b.Components, c)
	}
	slices.SortFunc(b.Components, func(x, y component) int { return strings.Compare(x.Ref, y.Ref) })
	b.Depends = append([]depends{all}, b.Depends...)
	text, err := rawjson.Encode(b, "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", text)
	}
	return err
}

// programOf describes a program by its checksum and how it was built.
func programOf(path, version string, info *buildinfo.BuildInfo) (component, error) {
	f, err := os.Open(path)
	if err != nil {
		return component{}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return component{}, err
	}
	name := filepath.Base(path)
	c := component{Type: "application", Ref: name, Name: name, Version: version,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum.Sum(nil))}}, Properties: []property{{"go:package", info.Path}}}
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "GO") || s.Key == "CGO_ENABLED" || s.Key == "vcs.revision" {
			c.Properties = append(c.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	return c, nil
}

// npmOf describes the npm packages that a program embeds: those of the console.
func npmOf(program string) (out []component) {
	if path.Base(program) != "toolhost-server" {
		return nil
	}
	for _, p := range console.Packages() {
		name, version, _ := strings.Cut(p, " ")
		purl := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + version
		out = append(out, component{Type: "library", Ref: purl, Name: name, Version: version, PURL: purl})
	}
	return out
}

// moduleOf describes a module; of one that is replaced, what it is replaced by.
func moduleOf(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	version := cmp.Or(m.Version, "(devel)")
	purl := "pkg:golang/" + m.Path + "@" + version
	c := component{Type: "library", Ref: purl, Name: m.Path, Version: version, PURL: purl}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}
