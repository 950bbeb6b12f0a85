package sdk

// What names of tools are made of, as errors show it. Each start of a plugin checks names, and would spend more time on
// compiling expressions than on all of the checks.
const toolNameRule = `^[A-Za-z0-9][A-Za-z0-9_-]*$`

func isToolName(name string) bool {
	alphanumeric := func(c byte) bool { return isLower(c) || isDigit(c) || 'A' <= c && c <= 'Z' }
	return madeOf(name, alphanumeric, func(c byte) bool { return alphanumeric(c) || c == '_' || c == '-' })
}

func isFormatName(name string) bool {
	return madeOf(name, isLower, func(c byte) bool { return isLower(c) || isDigit(c) || c == '-' })
}

// madeOf reports whether the first byte and all others are of a kind; there must be one.
func madeOf(name string, first, others func(c byte) bool) bool {
	for i := range len(name) {
		if i == 0 && !first(name[i]) || i > 0 && !others(name[i]) {
			return false
		}
	}
	return name != ""
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
