package main

import (
	"errors"
	"os"
	"os/exec"
)

// replaceProcess runs a program, and ends as it ends.
func replaceProcess(program string, args []string) error {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if ended, is := errors.AsType[*exec.ExitError](err); is {
		return &exitError{code: ended.ExitCode()}
	}
	return err
}
