package main

import (
	"errors"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/sdk"
)

// The exit codes of the contract.
const (
	exitOK          = 0
	exitTool        = 1 // the tool answered with an error
	exitLost        = 1 // the answer could not be written
	exitDiffers     = 1 // a check found a difference
	exitUsage       = 2 // usage, configuration, unknown tool
	exitDenied      = 3 // by policy or a person
	exitUnavailable = 4 // a plugin crashed or is not available
	exitTimeout     = 5
	exitInterrupted = 130
)

// An exitError ends the command with a code. Its text is shown unless it is empty.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// exitCode: an error without a code of its own is one of usage or configuration.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if _, untrusted := errors.AsType[*bootstrap.UntrustedError](err); untrusted {
		return exitDenied
	}
	return exitUsage
}

// codeFor gives the exit code for a failed call.
func codeFor(e *sdk.Error) int {
	switch e.Code {
	case sdk.CodeToolNotFound, sdk.CodeInvalidArgs:
		return exitUsage
	case sdk.CodeDenied, sdk.CodeRejected, sdk.CodeApprovalTimeout, sdk.CodeApprovalUnavailable, sdk.CodeNotInCatalog:
		return exitDenied
	case sdk.CodePluginCrashed, sdk.CodePluginUnavailable, sdk.CodeProtocol:
		return exitUnavailable
	case sdk.CodeTimeout:
		return exitTimeout
	case sdk.CodeCanceled:
		return exitInterrupted
	}
	return exitTool
}
