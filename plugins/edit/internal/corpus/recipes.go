package corpus

import (
	"slices"
	"strings"
)

// recipes are the categories, in the order of the table.
var recipes = []recipe{
	edits("exact", 1, 20, (*draft).exact),
	{"replace_all", (*maker).everywhere},
	edits("delete_fuzzy", 2, 20, (*draft).deletion),
	edits("trim_blank", 2, 20, after(false, (*draft).trimmed)),
	edits("trailing_ws", 2, 30, after(false, (*draft).trailing)),
	edits("tabs_spaces", 2, 30, after(false, (*draft).tabs)),
	edits("indent_shift", 2, 30, after(false, (*draft).shift)),
	edits("crlf", 2, 30, after(false, (*draft).returns)),
	edits("collapsed_spaces", 2, 20, func(d *draft) bool { return d.plan(false) && d.evenMiddles() && d.collapsed() }),
	edits("comments_dropped", 6, 30, after(true, (*draft).dropComments)),
	edits("comments_changed", 6, 30, after(true, (*draft).rewordComments)),
	edits("unicode_punct", 2, 20, (*draft).printed),
	edits("unicode_nf", 2, 20, (*draft).composed),
	edits("typos", 6, 30, after(false, (*draft).typos)),
	edits("typos_ctx", 7, 30, after(false, (*draft).contextTypos)),
	edits("line_altered", 8, 30, after(true, (*draft).altered)),
	edits("line_missing", 8, 30, after(true, (*draft).missing)),
	edits("line_extra", 8, 30, after(true, (*draft).more)),
	edits("blank_lines", 5, 30, after(true, (*draft).blankLines)),
	edits("escape", 2, 16, after(false, (*draft).escaped)),
	edits("lineno_prefix", 2, 30, after(false, (*draft).numbered)),
	edits("wrapped", 2, 20, after(false, (*draft).wrapped)),
	edits("format_drift", 2, 16, after(false, (*draft).drift)),
	edits("rewrap", 5, 20, after(true, (*draft).rewrapped)),
	edits("partial_line", 1, 10, (*draft).partial),
	{"eof", (*maker).ending},
	{"cjk", (*maker).cjk},
	edits("mixed_noise", 2, 20, after(false, (*draft).mixed)),
	{"neardup_unique", (*maker).rightTwin},
	{"ambiguous_exact", (*maker).repeatedExactly},
	{"ambiguous_fuzzy", (*maker).repeatedNearly},
	{"absent", (*maker).elsewhere},
	{"absent_hard", (*maker).nearlyThere},
	{"already_applied", (*maker).done},
	{"neardup_ambig", (*maker).eitherTwin},
	{"sibling_absent", (*maker).noSibling},
	{"guards", (*maker).senseless},
	family("blank_eaten", 1, 8, finished((*draft).blankMore)),
	family("blank_doubled", 1, 8, finished((*draft).blankLess)),
	family("twins_typos", 5, 15, (*draft).misspeltTwins),
	family("prefixes", 2, 15, finished(after(false, (*draft).prefixed))),
	family("escapes_mixed", 2, 12, finished(after(false, (*draft).halfEscaped))),
	{"number_keys", (*maker).numberKeys},
	{"number_absent", (*maker).otherKeys},
	family("breaks_lost", 1, 10, finished((*draft).breakLost)),
	family("placeholders", 4, 14, (*draft).stubbed),
	family("fences", 2, 12, (*draft).onlyNewFenced),
	family("inserted_twice", 1, 6, (*draft).twice),
	family("stale_line", 1, 1, (*draft).staleLine),
	family("meant", 1, 6, finished((*draft).meant)),
}

// families are the categories of faults that use has shown. Each must hold by itself.
var families = strings.Fields("blank_eaten blank_doubled twins_typos prefixes escapes_mixed number_keys number_absent breaks_lost placeholders fences inserted_twice stale_line meant")

// Families are the names of those categories.
func Families() []string { return slices.Clone(families) }
