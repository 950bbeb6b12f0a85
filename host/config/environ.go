package config

import (
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"golang.org/x/text/unicode/norm"
)

// env gives the value of an environment variable that must be set.
func (s *scope) env(name string, at hcl.Range) (cty.Value, bool) {
	v, there := os.LookupEnv(name)
	if !there {
		s.add(at, "the environment variable %s is not set", brief(name)).hint("set it, or write env(%q, \"default\")", brief(name))
		return cty.DynamicVal, false
	}
	if problem := foreign(v); problem != "" {
		s.add(at, "the environment variable %s %s", name, problem).hint("write the value here instead")
		return cty.DynamicVal, false
	}
	s.hidden.AddText(v, "env."+name)
	return cty.StringVal(v), true
}

// envFunction is env(name, default).
func (s *scope) envFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "name", Type: cty.String}, {Name: "default", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, there := os.LookupEnv(args[0].AsString())
			if !there {
				return args[1], nil
			}
			if problem := foreign(v); problem != "" {
				return cty.DynamicVal, fmt.Errorf("the environment variable %s %s", args[0].AsString(), problem)
			}
			if s.copied += len(v); s.copied > maxCopied {
				return cty.DynamicVal, fmt.Errorf("the values that this file repeats come to more than %d KiB", maxCopied>>10)
			}
			s.hidden.AddText(v, "env."+args[0].AsString())
			return cty.StringVal(v), nil
		},
	})
}

// foreign says what is wrong with a string from outside that would not stay as it is.
func foreign(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case !norm.NFC.IsNormalString(s):
		return "has letters that are written as a base letter and an accent"
	}
	return ""
}
