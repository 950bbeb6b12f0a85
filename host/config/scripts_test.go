package config

import (
	"encoding/json"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
)

// A script for a shell is a command; of others it is not known which commands they run.
func TestConditionsAboutScripts(t *testing.T) {
	pushes := ruleWith(t, `anytrue([for c in commands(args.command) : c.name == "git" && contains(c.args, "push")])`)
	mentions := ruleWith(t, `matches("secret", args.command)`)
	for _, test := range []struct {
		rule     policy.Rule
		category string
		args     map[string]string
		want     policy.Truth
	}{
		{pushes, "shell", map[string]string{"command": "ls\ngit push\n", "interpreter": "bash"}, policy.Yes},
		{pushes, "shell", map[string]string{"command": "ls\ngit log\n"}, policy.No},
		{pushes, "shell", map[string]string{"command": "print('(')", "interpreter": "python3"}, policy.Unsure},
		{pushes, "shell", map[string]string{"command": "ls", "interpreter": "python3"}, policy.Unsure},
		{pushes, "other", map[string]string{"command": "ls", "interpreter": "python3"}, policy.No},
		{mentions, "shell", map[string]string{"command": "print(secret)", "interpreter": "python3"}, policy.Yes},
		{mentions, "shell", map[string]string{"command": "print(1)", "interpreter": "python3"}, policy.No},
	} {
		arguments, err := json.Marshal(test.args)
		if err != nil {
			t.Fatal(err)
		}
		got, err := test.rule.When(&policy.Query{Tool: "shell__script", Plugin: "shell", Category: test.category,
			Workdir: "/project", Arguments: arguments})
		if err != nil || got != test.want {
			t.Errorf("%s in category %s: %v, %v; want %v", arguments, test.category, got, err, test.want)
		}
	}
}
