package host

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// A Hit is a tool that a search found.
type Hit struct {
	Tool *Tool
	// Score is above zero, and higher for a better match. Scores of different searches cannot be compared.
	Score float64
}

// Search finds up to n tools of the catalog that a query in plain words may mean, the best first; ten when n is zero or
// less. It looks at names, titles, descriptions, categories and parameters. The query's last word may be unfinished, and
// a word of five letters or more may have typing errors when nothing has it as it stands. A query without words finds
// nothing. Plugins that cannot tell their tools are left aside; Tools says which.
func (c *Catalog) Search(ctx context.Context, query string, n int) []Hit {
	terms := termsOf(query)
	if len(terms) == 0 {
		return nil
	}
	tools, _ := c.all(ctx)
	scores := score(terms, tools)
	var hits []Hit
	for i, t := range tools {
		if scores[i] > 0 {
			hits = append(hits, Hit{t, scores[i]})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) }) // tools come by name
	return hits[:min(len(hits), firstPositive(n, 10))]
}

// A term is a word of a query.
type term struct {
	word, stem string
	last       bool
}

const (
	maxQuery = 1000 // bytes
	maxTerms = 32
)

func termsOf(query string) (terms []term) {
	query = query[:min(len(query), maxQuery)]
	eachWord(query, func(word string) {
		s := stem(word)
		if len(terms) < maxTerms && !slices.ContainsFunc(terms, func(t term) bool { return t.stem == s }) {
			terms = append(terms, term{word: word, stem: s})
		}
	})
	if len(terms) > 0 {
		terms[len(terms)-1].last = true
	}
	return terms
}

// score ranks by BM25: a rare word counts more than a frequent one, a second time less than the first, and a word in a
// short page more than in a long one.
func score(terms []term, tools []*Tool) []float64 {
	const saturation, lengths = 4, 0.5
	scores := make([]float64, len(tools))
	pages := make([]page, len(tools))
	var total float64
	for i, t := range tools {
		pages[i] = t.page()
		total += pages[i].length
	}
	add := func(weights []float64, n int, share float64) {
		rarity := math.Log(1 + (float64(len(pages)-n)+0.5)/(float64(n)+0.5))
		for i, w := range weights {
			size := pages[i].length * float64(len(pages)) / total
			scores[i] += share * rarity * w * (saturation + 1) / (w + saturation*(1-lengths+lengths*size))
		}
	}
	for _, s := range phrasesIn(terms) {
		weights, n := countIn(term{word: s, stem: s}, pages)
		add(weights, n, synonymShare)
	}
	for _, t := range terms {
		if meant := synonyms[t.word]; len(meant) > 0 {
			for _, s := range meant {
				weights, n := countIn(term{word: s, stem: s}, pages)
				add(weights, n, synonymShare)
			}
			if _, n := countIn(t, pages); n == 0 {
				continue // it is the name of a program: no tool has it, but for typing errors
			}
		}
		weights, n := t.weigh(pages)
		add(weights, n, 1)
	}
	return scores
}

// weigh says how much the term weighs in each page, and how many pages have it: as it stands, else as the beginning of
// a word, else with typing errors.
func (t term) weigh(pages []page) (weights []float64, n int) {
	for _, how := range []func(page) float64{t.in, t.begins, t.resembles} {
		weights = make([]float64, len(pages))
		for i, p := range pages {
			if weights[i] = how(p); weights[i] > 0 {
				n++
			}
		}
		if n > 0 {
			break
		}
	}
	return weights, n
}

func countIn(t term, pages []page) (weights []float64, n int) {
	weights = make([]float64, len(pages))
	for i, p := range pages {
		if weights[i] = t.in(p); weights[i] > 0 {
			n++
		}
	}
	return weights, n
}

func (t term) in(p page) float64 { return p.weights[t.stem] }

// begins is for the last word, which may be unfinished.
func (t term) begins(p page) (most float64) {
	if !t.last || len(t.word) < 2 {
		return 0
	}
	for word, weight := range p.weights {
		if strings.HasPrefix(word, t.word) || strings.HasPrefix(word, t.stem) {
			most = max(most, weight)
		}
	}
	return most
}

// resembles is for typing errors: one for words of five letters, two for longer ones. The first letter is taken for right.
func (t term) resembles(p page) (most float64) {
	if len(t.word) < 5 {
		return 0
	}
	allowed := min(2, len(t.word)-4)
	for word, weight := range p.weights {
		if word[0] != t.stem[0] || len(word) < 4 || max(len(word)-len(t.stem), len(t.stem)-len(word)) > allowed {
			continue
		}
		if d := levenshtein.Distance(word, t.stem, nil); d <= allowed {
			most = max(most, weight/float64(1+d))
		}
	}
	return most
}
