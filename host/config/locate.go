package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A place is where a plugin's block is, and where each value of its configuration is, by JSON pointer.
type place struct {
	line  int
	lines map[string]int
}

// Locate says where a value of a plugin's configuration is written, such as "config.hcl:17". The path is a JSON pointer
// or names with dots, as in "/server/0/port" or "server.0.port". What is not written in the file by itself is located by
// what is around it: in the end by the plugin's block, and for a plugin that is not in the file by the file's name.
func (c *Config) Locate(plugin, path string) string {
	p, there := c.places[plugin]
	if !there {
		return c.shown
	}
	line := p.line
	for pointer := asPointer(path); ; pointer = pointer[:strings.LastIndexByte(pointer, '/')] {
		if l, there := p.lines[pointer]; there {
			line = l
			break
		}
		if pointer == "" {
			break
		}
	}
	return fmt.Sprintf("%s:%d", c.shown, line)
}

func asPointer(path string) string {
	if path == "" || path[0] == '/' {
		return path
	}
	return "/" + strings.NewReplacer("~", "~0", "/", "~1", ".", "/", "[", "/", "]", "").Replace(path)
}

// tooDeep stands for all pointers that are too long to be kept.
const tooDeep = "-"

// child is the pointer of a part.
func child(pointer, name string) string {
	if pointer == tooDeep || len(pointer)+len(name) > 512 {
		return tooDeep
	}
	return pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// note keeps the line that a value is on.
func (t *tree) note(pointer string, at hcl.Range) {
	if pointer != tooDeep {
		t.lines[pointer] = at.Start.Line
	}
}

// mark notes the lines of an expression, and of what is written out inside it.
func (t *tree) mark(pointer string, e hclsyntax.Expression) {
	t.note(pointer, e.Range())
	switch e := e.(type) {
	case *hclsyntax.TupleConsExpr:
		for i, item := range e.Exprs {
			t.mark(child(pointer, strconv.Itoa(i)), item)
		}
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			if key, ok := literalKey(item); ok {
				t.mark(child(pointer, key), item.ValueExpr)
			}
		}
	}
}
