# The configuration that runs out of the box. Paths start from this file's folder; only the
# commands of the discover plugin start from the work folder.

# Every toolhost-plugin-NAME in these folders is a plugin called NAME: readfile and edit come from here.
plugin_dirs = ["./bin"]

plugin "shell" { # configures the one found in ./bin
  tool "exec" {
    timeout = "10m"
  }
  config {
    shell = "bash"
  }
}

# The project's own tools, found and called in the way of Gemini CLI. It is a second instance of plugins/discover.
plugin "project" {
  command = ["./bin/toolhost-plugin-discover"]
  config {
    discovery_command = "plugins/discover/example/get_tools"
    call_command      = "plugins/discover/example/call_tool"
  }
}
