// Package pluginv1 is the wire between a host and a plugin, version 1: the code made from sdk/proto/plugin.proto.
package pluginv1
