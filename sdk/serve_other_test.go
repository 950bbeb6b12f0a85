//go:build !linux

package sdk_test

func family() {}
func host()   {}
