package config

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/text/unicode/norm"
)

const (
	maxSize  = 64 << 10 // of the file, in bytes
	maxDepth = 100      // of brackets in brackets; the parser and all that walk its tree recurse
)

// readFile gives the content of a config file.
func readFile(path string) ([]byte, error) {
	switch info, err := os.Stat(path); {
	case os.IsNotExist(err):
		return nil, fmt.Errorf(`config file %s: %w; make one with the line plugin_dirs = ["./bin"], or name another with --config`, path, fs.ErrNotExist)
	case err != nil:
		return nil, fmt.Errorf("config file: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("config file %s is a folder; name a file, such as %s", path, filepath.Join(path, "config.hcl"))
	case !info.Mode().IsRegular(): // reading a pipe or a terminal could wait for ever
		return nil, fmt.Errorf("config file %s is not a regular file; copy its content to one", path)
	}
	return readStart(path, maxSize)
}

// readStart gives the content of a file, but not more than one byte over the limit.
func readStart(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	return src, nil
}

// parse gives the syntax tree, or nil when the file must not be parsed or does not parse. Only what is wrong with the
// syntax is reported then: half a tree would be full of mistakes that nobody made.
func (r *reader) parse() *hclsyntax.Body {
	r.src = bytes.TrimPrefix(r.src, []byte("\ufeff"))
	if !r.plain() || !r.shallow() {
		return nil
	}
	file, diags := hclsyntax.ParseConfig(r.src, r.path, hcl.InitialPos)
	if r.addDiags(diags) {
		return nil
	}
	body, _ := file.Body.(*hclsyntax.Body)
	return body
}

// plain is false, and says why, when the file is no UTF-8 text of a sensible size.
func (r *reader) plain() bool {
	switch {
	case len(r.src) > r.most:
		r.add(hcl.Range{}, "the file is larger than %d KiB", r.most>>10).
			hint("no configuration needs that much; move long lists to files of the plugins that use them")
	case bytes.HasPrefix(r.src, []byte("\xff\xfe")), bytes.HasPrefix(r.src, []byte("\xfe\xff")):
		r.add(hcl.Range{}, "the file is UTF-16").hint("save it as UTF-8")
	case !utf8.Valid(r.src):
		r.add(firstInvalid(r.src), "this byte is not UTF-8").hint("save the file as UTF-8")
	default:
		return true
	}
	return false
}

func firstInvalid(src []byte) hcl.Range {
	pos := hcl.InitialPos
	for pos.Byte < len(src) {
		c, size := utf8.DecodeRune(src[pos.Byte:])
		if c == utf8.RuneError && size == 1 {
			break
		}
		pos.Byte += size
		pos.Column++
		if c == '\n' {
			pos.Line, pos.Column = pos.Line+1, 1
		}
	}
	end := hcl.Pos{Line: pos.Line, Column: pos.Column + 1, Byte: pos.Byte + 1}
	return hcl.Range{Start: pos, End: end}
}

// shallow looks at the tokens before the recursive parser may: it is false when they are nested too deeply, which
// would end the process with a stack overflow. It also reports strings that would not stay as they are.
func (r *reader) shallow() bool {
	tokens, _ := hclsyntax.LexConfig(r.src, r.path, hcl.InitialPos) // what is wrong with them, the parser says
	var n nesting
	for _, t := range tokens {
		if n.next(t.Type) > maxDepth {
			r.add(t.Range, "more than %d brackets or operators inside each other", maxDepth).hint("write it flatter, for instance with locals")
			return false
		}
		r.composed(t)
	}
	return true
}

// composed reports a string that is not in Unicode's normal form C. The evaluator puts all strings in that form, and a
// path or an argument must not be changed behind the user's back.
func (r *reader) composed(t hclsyntax.Token) {
	if t.Type != hclsyntax.TokenQuotedLit && t.Type != hclsyntax.TokenStringLit {
		return
	}
	if s, diags := hclsyntax.ParseStringLiteralToken(t); diags == nil && !norm.NFC.IsNormalString(s) {
		r.add(t.Range, "this string has letters that are written as a base letter and an accent").
			hint("write each of them as one character (Unicode normal form C)")
	}
}

// nesting follows how deep the tokens of a file are nested.
type nesting struct {
	open   []hclsyntax.TokenType // the closing tokens that are waited for
	prefix int                   // prefix operators in a row
}

var closing = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOBrace:          hclsyntax.TokenCBrace,
	hclsyntax.TokenOBrack:          hclsyntax.TokenCBrack,
	hclsyntax.TokenOParen:          hclsyntax.TokenCParen,
	hclsyntax.TokenTemplateInterp:  hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// next gives the depth after a token. A bracket that closes nothing changes nothing.
func (n *nesting) next(t hclsyntax.TokenType) int {
	switch t {
	case hclsyntax.TokenBang, hclsyntax.TokenMinus:
		n.prefix++
	case hclsyntax.TokenNewline, hclsyntax.TokenComment:
	default:
		n.prefix = 0
	}
	if c, opens := closing[t]; opens {
		n.open = append(n.open, c)
	} else if top := len(n.open) - 1; top >= 0 && n.open[top] == t {
		n.open = n.open[:top]
	}
	return len(n.open) + n.prefix
}
