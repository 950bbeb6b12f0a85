package policy

// AskFor is a layer under which a person is asked about the tools that match one of the patterns, and all others run.
func AskFor(tools ...string) Layer {
	const none = "" // matches no tool, where an empty list would stand for all
	return Layer{Name: "session", Rules: []Rule{
		{Name: "listed", Tools: append([]string{none}, tools...), Effect: Ask, Reason: "the tool is listed for approval"},
		{Name: "others", Effect: Allow},
	}}
}
