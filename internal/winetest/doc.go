// Package winetest runs toolhost for Windows under Wine, on Linux. Its programs are built with a tag that has the host
// take a TCP peer that the system does not tell, since Wine 8 tells none for connections that were accepted; one test
// has a host without it refuse. Its tests are skipped unless TOOLHOST_TEST_WINE is "required": .ci/try-windows sets it,
// with a WINEPREFIX of its own.
package winetest
