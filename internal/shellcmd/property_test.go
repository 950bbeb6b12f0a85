package shellcmd_test

import (
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/shellcmd"
	"pgregory.net/rapid"
)

var strictness = []string{"allow", "ask", "deny"}

func strict(effect string) int { return slices.Index(strictness, effect) }

// sound returns what is wrong with a verdict, for any text.
func sound(t interface {
	Helper()
	Errorf(string, ...any)
}, text string, set ruleSet) {
	t.Helper()
	v := set.rules.Judge(text, set.context)
	if strict(v.Effect) < 0 || len(v.Reasons) == 0 {
		t.Errorf("%q: the verdict is %+v", text, v)
	}
	s, err := shellcmd.Parse(text)
	if v.Effect != "allow" {
		return
	}
	if err != nil {
		t.Errorf("%q is allowed, and not understood: %v", text, err)
		return
	}
	for _, c := range s.Commands {
		if len(c.Doubts) > 0 {
			t.Errorf("%q is allowed in spite of %q", text, c.Doubts)
		}
	}
}

func FuzzJudge(f *testing.F) {
	for _, s := range corpus(f) {
		f.Add(s.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, set := range ruleSets {
			if name == "readonly" || name == "open" || name == "listed" {
				sound(t, text, set)
			}
		}
		shellcmd.Prefix(text)
		if r, _ := shellcmd.Assess(text, here); r.Level == "low" &&
			(shellcmd.Rules{ReadOnly: true}).Judge(text, here).Effect != "allow" {
			t.Errorf("%q is a low risk, and not allowed as reading", text)
		}
	})
}

func TestCorpusIsSoundUnderAllRules(t *testing.T) {
	for _, s := range corpus(t) {
		for _, set := range ruleSets {
			sound(t, s.text, set)
		}
	}
}

// Adding a part to a text that is understood never makes the verdict looser.
func TestMorePartsAreNeverLooser(t *testing.T) {
	var whole []string
	for _, s := range corpus(t) {
		if _, err := shellcmd.Parse(s.text + "\n"); err == nil {
			whole = append(whole, s.text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SampledFrom(whole).Draw(t, "a"), rapid.SampledFrom(whole).Draw(t, "b")
		set := ruleSets[rapid.SampledFrom([]string{"readonly", "denies", "open", "closed", "contract", "listed"}).Draw(t,
			"rules")]
		between := rapid.SampledFrom([]string{";", "\n", "&&", "||", "|", " ; true ; "}).Draw(t, "between")
		both := a + between + b
		if _, err := shellcmd.Parse(both); err != nil {
			return // such as two here-documents
		}
		va, vb, v := set.rules.Judge(a, set.context), set.rules.Judge(b, set.context), set.rules.Judge(both, set.context)
		if blank(a) || blank(b) || comment(a) {
			return
		}
		if strict(v.Effect) < strict(va.Effect) || between == ";" && strict(v.Effect) < strict(vb.Effect) && !moves(a) {
			t.Errorf("%q is %s with %v, alone %s and %s", both, v.Effect, v.Reasons, va.Effect, vb.Effect)
		}
	})
}

// blank reports texts that run nothing: the rule for all others decides about them.
func blank(text string) bool {
	s, err := shellcmd.Parse(text)
	return err == nil && len(s.Commands) == 0
}

// comment reports texts that hide what follows on the line.
func comment(text string) bool {
	s, err := shellcmd.Parse(text)
	t, err2 := shellcmd.Parse(text + " ; seen")
	return err == nil && err2 == nil && len(s.Commands) == len(t.Commands)
}

// moves reports texts after which paths mean something else.
func moves(text string) bool {
	s, err := shellcmd.Parse(text)
	return err == nil && slices.ContainsFunc(s.Commands, func(c shellcmd.Command) bool { return c.Name == "cd" })
}

// Wrapping never makes a verdict looser.
func TestWrappersAreNeverLooser(t *testing.T) {
	wrappers := []string{"env ", "command ", "nice -n 5 ", "timeout 5 ", "stdbuf -oL ", "nohup ", "sudo ", "xargs ",
		"time ", "! ", "exec "}
	for _, s := range corpus(t) {
		script, err := shellcmd.Parse(s.text)
		if err != nil || len(script.Commands) != 1 || script.Commands[0].Text != s.text ||
			len(script.Commands[0].Assigns) > 0 {
			continue
		}
		set := ruleSets[s.rules]
		for _, w := range wrappers {
			if v := set.rules.Judge(w+s.text, set.context); strict(v.Effect) < strict(s.effect) {
				t.Errorf("%q is %s, without %q it is %s", w+s.text, v.Effect, w, s.effect)
			}
		}
	}
}
