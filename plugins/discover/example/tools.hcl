# Tools that need no script: a command line each. Commands start in the work folder.
plugin "own" {
  command = ["../../../bin/toolhost-plugin-discover"]
  config {
    tool "first_lines" {
      description = "Shows the first lines of a text file, ten unless told otherwise."
      command     = ["head", "-n{{lines}}", "{{path}}"]
      params      = { path = "string: The file, from the work folder.", lines = "integer?: How many lines." }
      read_only   = true
    }
    tool "sort" {
      description = "Sorts the lines of a text."
      command     = ["sort"]
      stdin       = "{{text}}"
      params      = { text = "string: The lines." }
      read_only   = true
    }
  }
}
