// Package hclfile reads the project's HCL files: the configuration, the lock file and the remembered approvals.
// Files are treated as hostile: their size, nesting and the work that expressions can ask for are bounded. Reading
// continues after a mistake; Report.Err gives all of them, each with its position, its source line and a hint.
// Expressions may use local.NAME (from locals blocks), env.NAME (a variable of the environment, which must be set)
// and env("NAME", "default").
package hclfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/lazy"
)

// MaxDepth bounds brackets inside brackets: the parser, and all that walks its tree, recurse.
const MaxDepth = 100

// A File is one file being read.
type File struct {
	*Report
	*Scope
	Abs string // the absolute path
	// Asked, if set, is called with each attribute and block that reading requests: the path of the enclosing block,
	// such as "plugin.sandbox", its name, and what it must be. The configuration reference is generated from that.
	Asked func(block, name, form string)
	// Homes say where blocks and attributes belong, such as "in a policy block", for the hint about a misplaced one.
	Homes map[string]string
	// Foreign are hints about names of other programs' files, by the path of the block and the name, such as
	// "plugin.args". Rest is what is added to the hint about any other unknown name, by the path of the block.
	Foreign, Rest map[string]string
	limit         int // of its size, in bytes
}

// New starts the reading of a file: path is its location, which need not exist; limit bounds its size in bytes.
func New(path string, src []byte, limit int) (*File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	r := &Report{Path: display(path, abs), src: src}
	return &File{Report: r, Scope: &Scope{Report: r, locals: map[string]*local{}}, Abs: abs, limit: limit}, nil
}

// display returns the shorter of the path as given and the path from the current folder.
func display(path, abs string) string {
	here, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, abs); err == nil && len(rel) < len(path) {
		return rel
	}
	return path
}

// ReadStart returns the content of a regular file, up to one byte over the limit, so that New reports a larger one. If
// check is not nil, its error for the open file ends the reading: the path may lead to another file by then.
func ReadStart(path string, limit int64, check func(open fs.FileInfo) error) ([]byte, error) {
	f, err := fsutil.OpenForReading(path)
	if err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("config file: %w", err)
	case !info.Mode().IsRegular(): // a pipe could block without limit
		return nil, fmt.Errorf("config file %s is not a regular file", path)
	case check != nil:
		if err := check(info); err != nil {
			return nil, err
		}
	}
	src, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	return src, nil
}

// Parse returns the content of the file, or nil when it must not be parsed or has syntax errors; only those are
// reported then, since an incomplete tree would lead to wrong reports. One with an attribute set twice is complete.
func (f *File) Parse() *Body {
	f.src = bytes.TrimPrefix(f.src, []byte("\ufeff"))
	if !f.plain() || !f.shallow() {
		return nil
	}
	file, diags := hclsyntax.ParseConfig(f.src, f.Path, hcl.InitialPos)
	if f.addDiags(f.withLater(diags)) {
		return nil
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return nil
	}
	return f.body(body)
}

// topLevel matches the beginning of an attribute or a block that is in no other.
var topLevel = lazy.Regexp(`^[a-z][a-z0-9_]*( "[^"\n]*")* [={]`)

// withLater adds what is wrong after a finding from which the parser does not find back, such as a list without an end:
// it reads on from each line that begins something at the top level.
func (f *File) withLater(diags hcl.Diagnostics) hcl.Diagnostics {
	const most = 20   // findings are enough at once
	left := 256 << 10 // bytes that are read again
	known, at := map[int]bool{}, -1
	var tokens hclsyntax.Tokens // of the whole file: a line of a comment or of a text begins nothing
	if len(diags) > 0 {
		tokens, _ = hclsyntax.LexConfig(f.src, f.Path, hcl.InitialPos)
	}
	note := func(d *hcl.Diagnostic) (isNew bool) {
		if d.Subject == nil || known[d.Subject.Start.Byte] {
			return false
		}
		known[d.Subject.Start.Byte] = true
		at = max(at, min(d.Subject.Start.Byte, len(f.src)))
		return true
	}
	for _, d := range diags {
		note(d)
	}
	for range most {
		if at < 0 || len(diags) >= most {
			break
		}
		begin := bytes.LastIndexByte(f.src[:at], '\n') + 1 // a line in which a list does not end may be sound itself
		next := slices.IndexFunc(tokens, func(t hclsyntax.Token) bool {
			p := t.Range.Start
			return p.Byte >= begin && p.Column == 1 && t.Type == hclsyntax.TokenIdent && topLevel().Match(f.src[p.Byte:])
		})
		if next < 0 {
			break
		}
		start := tokens[next].Range.Start
		if bytes.Contains(f.src[begin:start.Byte], []byte("<<")) { // a text without an end, or the mark of a merge
			break
		}
		src := f.src[start.Byte:]
		if left -= len(src); left < 0 || deepest(src) > MaxDepth { // where a quote is open brackets count only now
			break
		}
		_, more := hclsyntax.ParseConfig(src, f.Path, start)
		if len(more) == 0 {
			break
		}
		if _, rest, ok := bytes.Cut(src, []byte("\n")); ok {
			at = len(f.src) - len(rest)
		} else {
			at = -1
		}
		for _, d := range more {
			if !note(d) {
				continue
			}
			// The bracket at the end of what it began in is no mistake.
			first := f.src[min(d.Subject.Start.Byte, len(f.src)-1)]
			if d.Summary != noItem || strings.IndexByte("])}", first) < 0 {
				diags = append(diags, d)
			}
		}
	}
	return diags
}

// Literal is false, and reports why, when the file has anything that is looked up or computed.
func (f *File) Literal(body *Body) bool {
	before := f.Count()
	_ = hclsyntax.VisitAll(body.Syntax, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n.(type) {
		case *hclsyntax.ScopeTraversalExpr, *hclsyntax.FunctionCallExpr, *hclsyntax.ForExpr, *hclsyntax.ConditionalExpr,
			*hclsyntax.BinaryOpExpr:
			f.Add(n.Range(), "a lock file has plain values only").
				WithHint("write the value, or have the file written by: toolhost plugin lock")
		}
		return nil
	})
	return f.Count() == before
}

// plain is false, and reports why, when the file is too large or not UTF-8.
func (f *File) plain() bool {
	switch {
	case len(f.src) > f.limit:
		f.Add(hcl.Range{}, "the file is larger than %d KiB", f.limit>>10).
			WithHint("no configuration needs that much; move long lists to files of the plugins that use them")
	case bytes.HasPrefix(f.src, []byte("\xff\xfe")), bytes.HasPrefix(f.src, []byte("\xfe\xff")):
		f.Add(hcl.Range{}, "the file is UTF-16").WithHint("save it as UTF-8")
	case len(f.src) > 1 && (f.src[0] == 0 || f.src[1] == 0): // UTF-16 without a mark of its byte order
		f.Add(hcl.Range{}, "the file is UTF-16, or no text").WithHint("save it as UTF-8")
	case bytes.ContainsRune(f.src, '\r') && !bytes.ContainsRune(f.src, '\n'):
		f.Add(hcl.Range{}, "the lines of the file end with CR alone").
			WithHint("save it with the line ends of Unix or Windows")
	case !utf8.Valid(f.src):
		f.Add(firstInvalid(f.src), "this byte is not UTF-8").WithHint("save the file as UTF-8")
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

// shallow is false, and reports why, when the tokens are nested too deeply for the recursive parser, which would end
// the process with a stack overflow. It also reports strings that are not in Unicode's normal form C: the evaluator
// converts all strings to that form, and a path or an argument must not change unnoticed.
func (f *File) shallow() bool {
	tokens, _ := hclsyntax.LexConfig(f.src, f.Path, hcl.InitialPos) // the parser reports their errors
	var n nesting
	for _, t := range tokens {
		if n.next(t.Type) > MaxDepth {
			f.Add(t.Range, "more than %d brackets or operators inside each other", MaxDepth).
				WithHint("write it flatter, for instance with locals")
			return false
		}
		if t.Type != hclsyntax.TokenQuotedLit && t.Type != hclsyntax.TokenStringLit {
			continue
		}
		if s, diags := hclsyntax.ParseStringLiteralToken(t); diags == nil && !norm.NFC.IsNormalString(s) {
			f.Add(t.Range, "this string has letters that are written as a base letter and an accent").
				WithHint("write each of them as one character (Unicode normal form C)")
		}
	}
	return true
}

// deepest returns the most brackets and operators inside each other in a text.
func deepest(src []byte) (depth int) {
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	var n nesting
	for _, t := range tokens {
		depth = max(depth, n.next(t.Type))
	}
	return depth
}

// nesting follows the nesting of the tokens of a file.
type nesting struct {
	open   []hclsyntax.TokenType // the closing tokens that are still to come
	prefix int                   // prefix operators in a row
}

var closing = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOBrace:          hclsyntax.TokenCBrace,
	hclsyntax.TokenOBrack:          hclsyntax.TokenCBrack,
	hclsyntax.TokenOParen:          hclsyntax.TokenCParen,
	hclsyntax.TokenTemplateInterp:  hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// next returns the depth after a token. An unmatched closing bracket changes nothing.
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
