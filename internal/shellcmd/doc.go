// Package shellcmd tells what a shell command would do, before it runs.
//
// Parse takes a text apart into the simple commands in it, as bash would. Rules decide about a text, Prefix says which
// later commands an answer may stand for, and Assess says how much harm there could be. Nothing is started and no file
// is read: paths are followed as written, so a symbolic link out of the workspace is not seen, and neither is what a
// project's own files make a listed program do, such as a Makefile. Commands of git that only read must be run with the
// settings of the repository turned off, see GitFolders. Judging is a seat belt; a sandbox is what contains.
//
// The texts are those of "bash --noprofile --norc -c" with a clean environment. Other shells read some texts differently.
//
// What cannot be determined is never allowed. What is not in the lists of this package counts as unknown: syntax, options
// of programs, sub-commands.
package shellcmd
