// Package errorcode knows the codes of package sdk.
package errorcode

import "github.com/toolhost/toolhost/sdk"

var known = map[sdk.Code]bool{sdk.CodeTool: true, sdk.CodeToolNotFound: true, sdk.CodeInvalidArgs: true,
	sdk.CodeNotInCatalog: true, sdk.CodeDenied: true, sdk.CodeRejected: true, sdk.CodeApprovalTimeout: true,
	sdk.CodeApprovalUnavailable: true, sdk.CodeLimit: true, sdk.CodeTimeout: true, sdk.CodeCanceled: true,
	sdk.CodePluginCrashed: true, sdk.CodePluginUnavailable: true, sdk.CodeProtocol: true,
	sdk.CodeResultTooLarge: true, sdk.CodeInternal: true}

// Known reports whether a code is one of package sdk. A plugin in the host's own process may make up others.
func Known(c sdk.Code) bool { return known[c] }
