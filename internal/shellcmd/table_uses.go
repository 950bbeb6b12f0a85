package shellcmd

import "sync"

// useRows are uses that only read of programs that also do other things. They count for reading alone: a rule that lists such a
// program covers what it did without them.
var useRows = []row{
	{"tee", "a i append ignore-interrupts", spec{operands: paths, check: checkTee}},
	{"zcat|gzcat|bzcat|xzcat|lzcat|zstdcat", "", spec{operands: paths}},
	{"gzip|gunzip|bzip2|bunzip2|xz|unxz|zstd|unzstd", "c d l q t v decompress list quiet stdout test to-stdout uncompress verbose", spec{operands: paths, check: checkUnpacks}},
	{"bc", "i l q s w interactive mathlib quiet standard warn", spec{operands: paths}},
	{"tar", "", spec{raw: true, operands: texts, check: checkTar}},
	{"unzip", "h l q v Z 1 2 s m", spec{operands: mixed, check: checkUnzip}},
	{"zipinfo", "1 2 h l m s t v z", spec{operands: mixed}},
	{"tokei", "f files s= t= sort= type= no-ignore hidden", spec{operands: paths}},
	{"printenv", "0 null", spec{operands: texts, check: checkPrintenv}},
	{"lsof", "a b i l n P R t w c= d= g= p= s= u=", spec{operands: texts, check: plainOperands}},
	{"ss", "0 4 6 a b e E H i l m n o O p r s t u w x all extended info ipv4 ipv6 listening memory no-header numeric oneline options processes resolve summary tcp udp unix", spec{operands: texts}},
	{"netstat", "a e g i l n o p r s t u w x all extend groups interfaces listening numeric program route statistics tcp timers udp unix wide 4 6", spec{max: -1}},
	{"man|whatis|apropos", "a f k s= w all apropos sections= whatis where", spec{operands: texts, check: plainOperands}},
	{"pip|pip3 list|freeze|check", "v q l o e user local outdated uptodate editable format= not-required exclude=", spec{max: -1}},
	{"pip|pip3 show", "f v q files verbose", spec{operands: texts, check: plainOperands}},
	{"npm root|prefix|bin", "g global", spec{max: -1}},
	{"npm ls|list|ll", "a g l p all global long parseable json depth= omit= include= prod", spec{operands: texts, check: plainOperands}},
	{"docker|podman ps", "a f= l n= q s all filter= format= last= latest no-trunc quiet size", spec{max: -1}},
	{"docker|podman images", "a f= q all digests filter= format= no-trunc quiet", spec{operands: texts}},
	{"docker|podman logs", "f n= t details since= tail= timestamps until=", spec{operands: texts}},
	{"docker|podman top|port|diff|history|version|info", "f= q format= no-trunc quiet", spec{operands: texts}},
}

var useSpecs = sync.OnceValue(func() map[string]*spec {
	m := map[string]*spec{}
	addRows(m, useRows, true)
	return m
})

// reading is find for what only reads, with uses of programs that also do other things.
func (c *Command) reading() (s *spec, n int) {
	if s, n = c.find(); s != nil && s.read {
		return s, n
	}
	return c.findIn(useSpecs())
}
