// Package toolsearch ranks tools by how well they match a query in plain words.
package toolsearch

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/toolhost/toolhost/sdk"
)

// Weights of a word by the field it occurs in. They are integers, so the order of additions does not change a sum.
const (
	inName        = 6
	inTitle       = 4
	inSummary     = 3 // the first line of the description
	inDescription = 2
	inOriginal    = 2 // the original name, most of which is in the name too
	inCategory    = 2
	inParameter   = 2
	inSchemaText  = 1
)

// A Document is the searchable text of one tool: the weight of each stem, and their sum. It does not change once made.
type Document struct {
	weights map[string]float64
	length  float64
}

// NewDocument indexes a tool's names, title, description, category and the parameters of its input schema.
func NewDocument(t *sdk.Tool) *Document {
	d := &Document{weights: map[string]float64{}}
	summary, rest, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
	d.add(t.Name, inName)
	d.add(t.OriginalName, inOriginal)
	d.add(t.Title, inTitle)
	d.add(summary, inSummary)
	d.add(rest, inDescription)
	d.add(t.Category, inCategory)
	var schema any
	if json.Unmarshal(t.InputSchema, &schema) == nil { // always: the schema has been compiled
		d.addSchema(schema)
	}
	return d
}

func (d *Document) add(text string, weight float64) {
	eachWord(text, func(word string) {
		d.weights[stem(word)] += weight
		d.length += weight
	})
}

// addSchema adds the names of parameters, and all titles and descriptions, at any depth.
func (d *Document) addSchema(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, v := range s {
			d.addSchema(v)
		}
	case map[string]any:
		for key, v := range s {
			if text, ok := v.(string); ok && (key == "description" || key == "title") {
				d.add(text, inSchemaText)
			}
			properties, ok := v.(map[string]any)
			if !ok || key != "properties" {
				d.addSchema(v)
				continue
			}
			for name, property := range properties {
				d.add(name, inParameter)
				d.addSchema(property)
			}
		}
	}
}

// Limits of a query; what exceeds them is ignored.
const (
	maxQuery = 1000 // bytes
	maxTerms = 32
)

// A Query is a parsed query: its words without stop words, each stem once. An empty one matches nothing.
type Query []term

type term struct{ word, stem string }

// ParseQuery splits a query in plain words into terms.
func ParseQuery(text string) (q Query) {
	eachWord(text[:min(len(text), maxQuery)], func(word string) {
		s := stem(word)
		if len(q) < maxTerms && !q.has(s) {
			q = append(q, term{word, s})
		}
	})
	return q
}

func (q Query) has(stem string) bool {
	return slices.ContainsFunc(q, func(t term) bool { return t.stem == stem })
}

// Rank returns the BM25 score of each document: a rare word counts more than a frequent one, a second occurrence less
// than the first, and a word in a short document more than in a long one. Zero is no match; scores of different
// queries cannot be compared. A term that no document has counts as the beginning of a word if it is the last of the
// query, otherwise as a misspelled word.
func (q Query) Rank(documents []*Document) []float64 {
	const saturation, lengthShare = 4, 0.5
	scores := make([]float64, len(documents))
	var total float64
	for _, d := range documents {
		total += d.length
	}
	match := func(weight func(*Document) float64) (weights []float64, found int) {
		weights = make([]float64, len(documents))
		for i, d := range documents {
			if weights[i] = weight(d); weights[i] > 0 {
				found++
			}
		}
		return weights, found
	}
	exact := func(stem string) ([]float64, int) {
		return match(func(d *Document) float64 { return d.weights[stem] })
	}
	add := func(weights []float64, found int, share float64) {
		rarity := math.Log(1 + (float64(len(documents)-found)+0.5)/(float64(found)+0.5))
		for i, w := range weights {
			size := documents[i].length * float64(len(documents)) / total
			scores[i] += share * rarity * w * (saturation + 1) / (w + saturation*(1-lengthShare+lengthShare*size))
		}
	}
	for _, s := range q.phraseMeanings() {
		weights, found := exact(s)
		add(weights, found, synonymShare)
	}
	for i, t := range q {
		meanings := synonyms()[t.word]
		for _, s := range meanings {
			weights, found := exact(s)
			add(weights, found, synonymShare)
		}
		weights, found := exact(t.stem)
		if found == 0 && len(meanings) > 0 {
			continue // the name of a program: a tool with a similar name is a coincidence
		}
		if found == 0 && i == len(q)-1 {
			weights, found = match(t.asPrefix)
		}
		if found == 0 {
			weights, found = match(t.misspelled)
		}
		add(weights, found, 1)
	}
	return scores
}

// asPrefix returns the largest weight of the words that begin with the term.
func (t term) asPrefix(d *Document) (largest float64) {
	if len(t.word) < 2 {
		return 0
	}
	for word, weight := range d.weights {
		if strings.HasPrefix(word, t.word) || strings.HasPrefix(word, t.stem) {
			largest = max(largest, weight)
		}
	}
	return largest
}

// misspelled allows one typing error in terms of five letters and two in longer ones, none of them in the first letter.
func (t term) misspelled(d *Document) (largest float64) {
	if len(t.word) < 5 {
		return 0
	}
	allowed := min(2, len(t.word)-4)
	for word, weight := range d.weights {
		if word[0] != t.stem[0] || len(word) < 4 || max(len(word)-len(t.stem), len(t.stem)-len(word)) > allowed {
			continue
		}
		if distance := levenshtein.Distance(word, t.stem, nil); distance <= allowed {
			largest = max(largest, weight/float64(1+distance))
		}
	}
	return largest
}

// Found is what a search tells a model.
type Found struct {
	Tools       []FoundTool `json:"tools"`
	NotSearched []string    `json:"not_searched,omitempty"` // which plugins, and why
}

// A FoundTool is what a model needs to call a tool.
type FoundTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// Result is the result of the search tool.
func (f *Found) Result() *sdk.Result {
	switch {
	case len(f.Tools) > 0:
		return sdk.JSON(f)
	case len(f.NotSearched) > 0:
		return sdk.Textf("No tool fits of those that are known by now. Not searched: %s. Search again in a moment for "+
			"tools of a plugin that is still starting.", strings.Join(f.NotSearched, "; "))
	}
	return sdk.Text("No tool fits. Try other words for what it should do, or fewer.")
}
