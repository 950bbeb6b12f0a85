package toolsearch

import (
	"slices"
	"strings"
	"testing"
)

func TestEachWord(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"":                         "",
		" .,:/ ":                   "",
		"Reads a text file.":       "reads text file",
		"readFile":                 "read file readfile",
		"read_file":                "read file readfile",
		"read-file":                "read file readfile",
		"HTTPServer":               "http server httpserver",
		"S3Bucket":                 "s3 bucket s3bucket",
		"k8s":                      "k8s",
		"GitHub's":                 "git hub github s",
		"github__create_pullIssue": "github create pull issue githubcreatepullissue",
		"__a__":                    "",
		"USA":                      "usa",
		"Größe Naïve":              "größe naïve",
		"日本語 ファイル":                 "日 本 語 日本語 フ ァ イ ル ファイル",
		"读取PDF文件":                  "读 取 pdf 文 件 读取pdf文件",
		"a\xffbc\xfe":              "bc",
		"-":                        "",
		strings.Repeat("é", 1000):  strings.Repeat("é", maxWord/2),
	}
	for text, want := range cases {
		var got []string
		eachWord(text, func(word string) { got = append(got, word) })
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%.40q has the words %q, want %q", text, got, want)
		}
	}
}

// Each line is a family of words that share a stem.
func TestStem(t *testing.T) {
	t.Parallel()
	families := []string{
		"file files", "copy copies copied", "delete deletes deleting deleted", "run runs running",
		"install installs installing installed",
		"list lists listing listed", "search searches searching searched", "box boxes", "push pushes pushed", "class classes",
		"query queries queried",
		"create creates creating created", "commit commits committing committed", "issue issues", "use", "status", "address",
		"redis", "url", "größe",
	}
	stems := map[string]string{}
	for _, family := range families {
		words := strings.Fields(family)
		for _, w := range words {
			if stem(w) != stem(words[0]) {
				t.Errorf("%s has the stem %s, %s has %s", w, stem(w), words[0], stem(words[0]))
			}
		}
		if other, ok := stems[stem(words[0])]; ok {
			t.Errorf("%s and %s have one stem", words[0], other)
		}
		stems[stem(words[0])] = words[0]
	}
	for _, w := range []string{"string", "thing", "bed", "as", "ing", "ed", "ies"} {
		if len(stem(w)) < min(3, len(w)) {
			t.Errorf("%s has the stem %q", w, stem(w))
		}
	}
}
