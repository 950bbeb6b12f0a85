package main

const execDescription = `Runs a command with the shell (bash, or sh where the operator chose it) and returns what it printed and its exit code.

Use it for programs: build, test, git, search in bulk. Use script for more than a few lines or another language, and the tools for files, where there are some, to read and edit files.

- Each call is a fresh shell: variables, functions and "cd" are not kept for the next call. Use workdir, or join steps with &&.
- The input is empty unless stdin is given, and there is no terminal unless pty is set: give commands the options that keep them from asking (-y, --no-pager).
- Output comes in the order it was printed, but of what came to both outputs at one moment stdout is first (2>&1 keeps the exact order); a line [stderr] or [stdout] says whose lines follow. A command that fails is an ordinary answer: read the exit code.
- Of long output the start and the end are shown, and the result names a file with all of it, up to a limit that it tells. Read that with exec, since it is outside of the workspace: tail -n 50 FILE, grep -n word FILE, sed -n '100,200p' FILE. It stays for about a day, unless newer output needs the room.
- A command that runs longer than timeout_seconds is stopped. For what goes on and on, such as a server or a watcher, set background: the call returns at once with the id of a job, and the tool job shows its output and stops it.
- Everything that a call started ends with it, also what was started with &; only background keeps running.`

const scriptDescription = `Runs the text of a script with an interpreter (bash, sh, python3, node, perl and the like) and returns what it printed and its exit code.

Use it for more than a few lines, for text full of quotes, and for other languages than the shell's: the text needs no escaping and no file. For one command use exec.

- The text is given as command. It runs from a file that is gone afterwards, in workdir; relative paths start there.
- args are the script's arguments ($1, sys.argv[1], process.argv[2]); stdin stays free for its input.
- A shell script goes on after a command that fails, unless it begins with set -e.
- Results, long output and time limits are as those of exec. Nothing is kept for the next call, and nothing runs on after it.
- People may be asked before code that is no shell script runs, since nothing tells beforehand what it does.`

const jobDescription = `Looks after background jobs: commands that exec started with background, in this session.

- list: all jobs with state, process id, exit code and how long they ran.
- output: what a job printed since it was last asked for, or its last lines with tail. It does not wait.
- wait: as output, once the job has ended or timeout_seconds (default 30) are over.
- stop: ends the job and everything that it started (SIGTERM, then SIGKILL after 2 s), and shows its last output.

Use wait rather than asking for output again and again. A job ends by itself, by stop, by its timeout_seconds, or with the plugin and the host: it does not outlive them. A job that has ended can be looked at until 16 later ones have ended too.`

const shownSchema = `"stdout":{"type":"string"},"stderr":{"type":"string"},` +
	`"truncated":{"type":"boolean","description":"stdout or stderr holds less than was printed"},` +
	`"stdout_bytes":{"type":"integer","description":"how much was printed"},"stderr_bytes":{"type":"integer"},` +
	`"stdout_file":{"type":"string","description":"where more of it is, if it is truncated"},"stderr_file":{"type":"string"}`

const oneJobSchema = `{"type":"object","properties":{"id":{"type":"string"},"command":{"type":"string"},` +
	`"state":{"type":"string","enum":["running","ended","stopped","timed_out"]},"pid":{"type":"integer"},` +
	`"exit_code":{"type":"integer"},"signal":{"type":"string"},"duration_ms":{"type":"integer"}},` +
	`"required":["id","command","state","pid","duration_ms"]}`

const execSchema = `{"type":"object","properties":{` + shownSchema + `,` +
	`"exit_code":{"type":"integer","description":"-1 when a signal ended the command; absent while it runs in the background"},` +
	`"signal":{"type":"string","description":"the signal that ended the command, such as SIGKILL, or empty"},` +
	`"timed_out":{"type":"boolean"},"duration_ms":{"type":"integer"},"job":` + oneJobSchema + `},` +
	`"required":["stdout","stderr","signal","timed_out","duration_ms","truncated","stdout_bytes","stderr_bytes"]}`

const jobSchema = `{"type":"object","properties":{"jobs":{"type":"array","items":` + oneJobSchema + `},"job":` + oneJobSchema + `,` + shownSchema + `}}`
