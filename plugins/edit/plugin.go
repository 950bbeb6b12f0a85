// Command toolhost-plugin-edit is the plugin that edits and writes files.
package main

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/toolhost/toolhost/plugins/edit/internal/match"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

func main() { sdk.Serve(newPlugin()) }

func newPlugin() *sdk.Plugin {
	p := sdk.New("edit", "0.1.0")
	e := new(editor)
	sdk.Configure(p, e.configure)
	addReplace(p, e)
	addMulti(p, e)
	addWrite(p, e)
	addUndo(p, e)
	addDiff(p, e)
	return p
}

// A config is the plugin's config block.
type config struct {
	Strictness   string                   `json:"strictness,omitempty" jsonschema:"How far old_string may be from what the file holds: exact, safe (but for what can be compared for equality, such as white space, comments and typographic quotes) or full (also small slips)." enum:"exact|safe|full" default:"full"`
	AllowSecrets workspace.AllowedSecrets `json:"allow_secrets,omitempty" jsonschema:"Files that may be edited though their names say that they hold secrets: patterns for paths relative to the workspace, such as config/test.pem or testdata/**/*.key."`
	Encoding     string                   `json:"encoding,omitempty" jsonschema:"What files are in that are not UTF-8, such as windows-1252, euc-kr, cp949, shift_jis, gb18030 or big5. Without it their bytes are carried as they are."`
}

// settings are a parsed config. The zero value stands for an empty one.
type settings struct {
	strictness   match.Strictness
	allowSecrets workspace.AllowedSecrets
	legacy       *form // of files that are not UTF-8; nil for none
}

func (e *editor) configure(_ context.Context, _ *sdk.Request, c config) error {
	s := settings{allowSecrets: c.AllowSecrets}
	switch c.Strictness {
	case "exact":
		s.strictness = match.Exact
	case "safe":
		s.strictness = match.Safe
	}
	if err := c.AllowSecrets.Check(); err != nil {
		return err
	}
	if c.Encoding != "" {
		legacy, err := codePage(c.Encoding)
		if err != nil {
			return &sdk.Error{Message: err.Error(), Details: sdk.Details(map[string]string{"path": "encoding"})}
		}
		s.legacy = legacy
	}
	e.settings = s
	return nil
}

// aliases are names that the index of encodings lacks. https://encoding.spec.whatwg.org/#names-and-labels
var aliases = map[string]string{"cp949": "euc-kr", "uhc": "euc-kr", "ms949": "euc-kr", "cp932": "shift_jis",
	"cp936": "gbk", "cp950": "big5"}

// codePage finds a stateless encoding, so that text can be changed in its middle.
func codePage(name string) (*form, error) {
	label := strings.ToLower(strings.TrimSpace(name))
	if alias, ok := aliases[label]; ok {
		label = alias
	}
	codec, err := htmlindex.Get(label)
	if err != nil || codec == encoding.Replacement || unfit[canonical(codec)] {
		return nil, fmt.Errorf("encoding: %q is none for files that are not UTF-8; known are windows-1252 and other code "+
			"pages, iso-8859-2 and others, euc-kr, cp949, euc-jp, shift_jis, gbk, gb18030, big5, koi8-r", name)
	}
	return &form{name: canonical(codec), codec: codec}, nil
}

// unfit are the encodings with a state or a byte order, and UTF-8 itself.
var unfit = map[string]bool{"": true, "utf-8": true, "utf-16le": true, "utf-16be": true, "iso-2022-jp": true,
	"replacement": true, "x-user-defined": true}

func canonical(codec encoding.Encoding) string {
	name, _ := htmlindex.Name(codec) // empty for what has none
	return name
}
