// Package pluginv1 is the wire between a host and a plugin, version 1: plugin.proto and the code made from it.
package pluginv1
