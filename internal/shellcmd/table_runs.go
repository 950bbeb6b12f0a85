package shellcmd

import "strings"

// words makes a set of names.
func words(list ...string) map[string]bool {
	m := map[string]bool{}
	for _, s := range list {
		for name := range strings.FieldsSeq(s) {
			m[name] = true
		}
	}
	return m
}

// runners run a command, or a text for a shell, that is somewhere among their words. Where it begins is not known for each of
// their options, so all of it is looked at by rules that deny, and nothing of it is allowed by a rule.
var runners = words("setarch linux32 linux64 i386 i486 i586 i686 x86_64 uname26 setpriv prlimit capsh chpst softlimit setuidgid envdir envuidgid daemon daemonize",
	"start-stop-daemon cgexec numactl choom valgrind perf rr hyperfine tmux screen dtach abduco zellij socat nc ncat netcat xvfb-run dbus-run-session dbus-launch firejail bwrap",
	"lxc-attach lxc-execute machinectl systemd-nspawn flatpak flatpak-spawn snap aa-exec runcon newgrp sg ssh-agent dumb-init tini su-exec catatonit rush cpulimit trickle",
	"proxychains proxychains4 torsocks torify tsocks eatmydata faketime libtool watchexec nodemon xterm gnome-terminal konsole alacritty kitty foot urxvt rxvt uxterm",
	"expect gdb gdbserver lldb cgdb ltrace stap bpftrace dtrace sqlite3 sqlite psql mysql mariadb vim vi nvim view ex rvim rview vimdiff gvim emacs emacsclient ed red mail mailx mutt lftp ftp",
	"compgen complete mapfile readarray alias bind fc dialog whiptail inotifywait entr reptyr unbuffer run-parts runc crun ctr nerdctl pkexec gksudo kdesu sudoedit",
	"logrotate logsave ssh-copy-id sshpass autossh mosh pssh parallel-ssh ansible salt dsh clush fakechroot pseudo schroot debootstrap chronic ts ifne vipe pee lckdo errno",
	"pwsh powershell nu elvish xonsh psql pspg withlock setlock with-lock-ex multilog runsvdir s6-setuidgid execlineb exec-fd doas-run at batch crontab incrontab anacron busctl dbus-send gio xdg-open open osascript cscript wscript cmd")

// packaged run a program, or a package, that is named among their words; a rule can allow such a command by its words.
var packaged = words("npx bunx pnpx uvx pipx dlx tsx ts-node npm-exec ccache distcc sccache icecc bear coverage py-spy memray scalene direnv dotenv op doppler aws-vault envchain sops",
	"docker podman kubectl oc heroku fly vagrant nix nix-shell guix devbox mise asdf rtx pyenv rbenv nodenv nvm volta conda mamba micromamba poetry uv pipenv hatch pdm rye bundle npm pnpm yarn bun deno",
	"stack cabal dotnet mix rustup cargo docker-compose toolbox distrobox lima limactl wsl R julia octave guile racket sbcl clisp elixir iex erl luajit gnuplot ghci groovy scala kotlin swift jshell")

// projects are programs that run what the project, or a package that they fetch, holds. With sub-commands, only those.
var projects = words("make gmake bmake remake ninja samu just task rake ant gradle gradlew mvn mvnw sbt lein boot bazel bazelisk buck buck2 pants meson cmake ctest cpack scons waf tox nox invoke inv fab",
	"pytest py.test nosetests trial jest mocha vitest ava tap karma cypress playwright webpack vite rollup parcel gulp grunt nx turbo lerna eslint prettier stylelint pre-commit husky lint-staged lefthook",
	"ansible-playbook puppet chef-client chef-solo packer terraform tofu pulumi earthly dagger act skaffold tilt devspace docker-compose systemctl service launchctl",
	"java javaw groovy scala kotlin swift runghc runhaskell ghci julia R octave guile racket sbcl clisp elixir iex erl escript luajit wish gnuplot dpkg rpm apt apt-get yum dnf brew pacman apk",
	"pip pip3 gem cpan cpanm luarocks opam composer npx bunx pnpx uvx pipx")

var projectSubs = words("go:test go:run go:generate go:tool go:get go:install cargo:build cargo:b cargo:check cargo:c cargo:test cargo:t cargo:run cargo:r cargo:bench cargo:doc cargo:d cargo:clippy cargo:install cargo:fix cargo:rustc",
	"cargo:nextest cargo:make cargo:xtask docker:run docker:exec docker:build docker:compose docker:start docker:buildx podman:run podman:exec podman:build podman:start podman:compose kubectl:exec kubectl:run kubectl:debug",
	"bundle:exec bundle:install uv:run uv:sync uv:pip uv:tool poetry:run poetry:install pipenv:run pipenv:install dotnet:run dotnet:test dotnet:build dotnet:exec mix:run mix:test mix:compile stack:exec stack:run stack:test stack:build",
	"cabal:run cabal:exec cabal:test cabal:build swift:run swift:test swift:build flutter:run flutter:test dart:run dart:test deno:run deno:test deno:task deno:eval bun:run bun:test bun:x bun:install nix:run nix:develop nix:shell",
	"gh:extension gh:alias hg:update svn:update perf:record")

// readNPM are sub-commands of package managers that run no scripts.
var readNPM = words("ls list ll la view info show outdated why explain search root prefix bin help --version -v")

// gitSubs are the sub-commands of git that run nothing that their words, or a setting under a name of the user's, say. All others may
// be aliases, or run what they are given.
var gitSubs = words("add am annotate apply archive blame branch bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone",
	"commit commit-graph commit-tree count-objects describe diff diff-files diff-index diff-tree fast-export fast-import fetch fmt-merge-msg for-each-ref format-patch fsck gc get-tar-commit-id grep hash-object help",
	"index-pack init interpret-trailers log ls-files ls-remote ls-tree maintenance merge merge-base merge-file merge-index merge-tree mktag mktree multi-pack-index mv name-rev notes pack-objects pack-refs",
	"patch-id prune prune-packed pull push range-diff read-tree rebase reflog remote repack replace request-pull rerere reset restore rev-list rev-parse revert rm send-pack shortlog show show-branch show-index show-ref",
	"sparse-checkout stash status stripspace switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info var verify-commit verify-pack verify-tag version worktree write-tree --version --help")

// programOptions take a program, or a text for a shell. Letters are found in bundles, names also cut short.
var programOptions = map[string][]string{
	"tar": strings.Fields("--checkpoint-action --to-command --use-compress-program --rsh-command --info-script --new-volume-script -I -F"), "bsdtar": strings.Fields("--use-compress-program"),
	"cpio": strings.Fields("--rsh-command"), "sort": strings.Fields("--compress-program"), "split": strings.Fields("--filter"), "csplit": nil,
	"rg": strings.Fields("--pre --hostname-bin"), "rsync": strings.Fields("--rsh --rsync-path -e"), "zip": strings.Fields("-TT --unzip-command"), "man": strings.Fields("-P --pager -H --html"),
	"ssh": strings.Fields("-o"), "scp": strings.Fields("-S -o"), "sftp": strings.Fields("-S -o -b"), "go": strings.Fields("-exec -toolexec -vettool --exec --toolexec --vettool"),
	"fd": strings.Fields("-x -X --exec --exec-batch"), "fdfind": strings.Fields("-x -X --exec --exec-batch"), "wget": strings.Fields("--use-askpass"), "tcpdump": strings.Fields("-z"),
	"gcc": strings.Fields("-wrapper"), "g++": strings.Fields("-wrapper"), "cc": strings.Fields("-wrapper"), "clang": strings.Fields("-fplugin"), "pandoc": strings.Fields("--filter --lua-filter -F -L"),
	"make": strings.Fields("--eval -E"), "gmake": strings.Fields("--eval -E"), "svn": strings.Fields("--diff-cmd --diff3-cmd --editor-cmd --config-option"), "hg": strings.Fields("--config"),
	"apt": strings.Fields("-o"), "apt-get": strings.Fields("-o"), "less": strings.Fields("-k --lesskey-file"), "dpkg": strings.Fields("--pre-invoke --post-invoke"), "nmap": strings.Fields("--script"),
	"ctags": strings.Fields("--options"), "ip": nil, "curl": nil, "git": nil, "openssl": strings.Fields("-engine"), "date": nil, "bzip2": nil, "7z": nil,
}

// gitProgramOptions are those of sub-commands of git.
var gitProgramOptions = map[string][]string{
	"clone": strings.Fields("--upload-pack -u --config -c --template"), "fetch": strings.Fields("--upload-pack"), "pull": strings.Fields("--upload-pack"), "ls-remote": strings.Fields("--upload-pack --exec"),
	"fetch-pack": strings.Fields("--upload-pack --exec"), "push": strings.Fields("--receive-pack --exec"), "send-pack": strings.Fields("--receive-pack --exec"), "archive": strings.Fields("--exec --remote"),
	"rebase": strings.Fields("--exec -x"), "grep": strings.Fields("--open-files-in-pager -O"), "difftool": strings.Fields("--extcmd -x"), "init": strings.Fields("--template"),
	"submodule": strings.Fields("foreach"), "bisect": strings.Fields("run"), "send-email": strings.Fields("--sendmail-cmd --smtp-server --to-cmd --cc-cmd"),
	"filter-branch": strings.Fields("--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter --tag-name-filter"),
}
