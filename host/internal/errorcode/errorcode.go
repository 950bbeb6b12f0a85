// Package errorcode knows the codes of package sdk.
package errorcode

import "github.com/toolhost/toolhost/sdk"

// all has what a model can do about an error of the host that does not say it, by its code. Tools and rules have their
// own advice.
var all = map[sdk.Code]string{
	sdk.CodeTool:                "",
	sdk.CodeToolNotFound:        "",
	sdk.CodeInvalidArgs:         "",
	sdk.CodeNotInCatalog:        "",
	sdk.CodeDenied:              "",
	sdk.CodeRejected:            "",
	sdk.CodeApprovalTimeout:     "Make the call again when the user is there.",
	sdk.CodeApprovalUnavailable: "Do something else, or ask the user to allow the call with a rule.",
	sdk.CodeLimit:               "Make fewer calls at once, or do without this one.",
	sdk.CodeTimeout:             "Ask for less at once, or for a longer timeout.",
	sdk.CodeCanceled:            "",
	sdk.CodePluginCrashed:       "Check what the call has done before you make it again.",
	sdk.CodePluginUnavailable:   "Do without the tool, or ask the user to fix its plugin.",
	sdk.CodeProtocol:            "Do without the tool, or tell the user: its plugin has a mistake.",
	sdk.CodeResultTooLarge:      "Ask for less at once.",
	sdk.CodeInternal:            "Do without the tool, or tell the user: the host's log says more.",
}

// Known reports whether a code is one of package sdk. A plugin in the host's own process may make up others.
func Known(c sdk.Code) bool { _, known := all[c]; return known }

// Advice is what a model can do about an error of the host that does not say it; "" for nothing.
func Advice(c sdk.Code) string { return all[c] }
