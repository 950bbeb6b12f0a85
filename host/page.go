package host

import (
	"encoding/json"
	"strings"
)

// A page is what search knows of one tool: how much each stem weighs in it, and all of them together.
type page struct {
	weights map[string]float64
	length  float64
}

// What a word weighs, by where it stands: whole numbers, so that no order of adding them up matters.
const (
	inName        = 6
	inTitle       = 4
	inSummary     = 3 // the description's first line
	inDescription = 2
	inOriginal    = 2 // the original name; most of it is in the name too
	inCategory    = 2
	inParameter   = 2
	inSchemaText  = 1
)

func newPage(t *Tool) page {
	p := page{weights: map[string]float64{}}
	summary, rest, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
	p.add(t.Name, inName)
	p.add(t.OriginalName, inOriginal)
	p.add(t.Title, inTitle)
	p.add(summary, inSummary)
	p.add(rest, inDescription)
	p.add(t.Category, inCategory)
	var schema any
	if json.Unmarshal(t.InputSchema, &schema) == nil { // it was compiled: it is JSON
		p.addSchema(schema)
	}
	return p
}

func (p *page) add(text string, weight float64) {
	eachWord(text, func(word string) {
		p.weights[stem(word)] += weight
		p.length += weight
	})
}

// addSchema adds the names of parameters and what is said of them, at any depth.
func (p *page) addSchema(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, v := range s {
			p.addSchema(v)
		}
	case map[string]any:
		for key, v := range s {
			p.addKeyword(key, v)
		}
	}
}

func (p *page) addKeyword(key string, v any) {
	if text, ok := v.(string); ok && (key == "description" || key == "title") {
		p.add(text, inSchemaText)
	}
	if properties, ok := v.(map[string]any); ok && key == "properties" {
		for name, schema := range properties {
			p.add(name, inParameter)
			p.addSchema(schema)
		}
		return
	}
	p.addSchema(v)
}
