package shellcmd

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/sdk/filenames"
)

// A Risk says how much harm a text could do.
type Risk struct {
	// Level is "low" (it only reads, inside the workspace), "medium", or "high" (it deletes what is not made again,
	// escalates, runs what it downloads, writes or shows keys outside of the workspace, or cannot be determined).
	Level string `json:"level"`
	// Reasons are short sentences, those for the level first; none for "low".
	Reasons []string `json:"reasons"`
}

// Assess says how much harm a text could do, for a person who is asked about it, and returns its commands: none if it
// cannot be parsed.
func Assess(text string, c Context) (Risk, []Command) {
	s, err := parse(text)
	if err != nil {
		return Risk{"high", []string{err.Error()}}, nil
	}
	var high []string
	if s.bomb != "" {
		high = []string{s.bomb}
	}
	for _, given := range c.Env {
		name, value, known := strings.Cut(given, "=")
		w := walker{all: &sharedState{commands: make([]Command, 1), outer: &wholeText{}}}
		if !known {
			value = "$(?)"
		}
		if w.variable(0, name, Word{Text: value, Static: known}); searched().MatchString(name) || w.all.commands[0].severe {
			high = append(high, "it is given "+name+", which changes what programs run")
		}
	}
	for _, why := range slices.Concat(s.harms(c), ranFiles(s, c), ranInput(s, c), movedFiles(s, c), sentSecrets(s)) {
		high = add(high, why)
	}
	if len(high) > 0 {
		return Risk{"high", high}, s.Commands
	}
	v := Rules{ReadOnly: true}.judge(s, nil, c)
	if v.Effect == allow {
		return Risk{"low", []string{}}, s.Commands
	}
	var medium []string
	for _, r := range v.Reasons {
		medium = add(medium, r.Command+": "+r.Why)
	}
	return Risk{"medium", medium}, s.Commands
}

// harms say how its commands could do much harm, each by itself.
func (s *Script) harms(c Context) (list []string) {
	own := map[string]bool{} // files that the text has certainly written anew
	lost := false            // where it goes is only known when it runs
	tests, depth := false, 0 // data is that of tests, for a command and what it runs
	for i := range s.Commands {
		part := &s.Commands[i]
		p := c.workdirs(part.dirs)
		text, inside := part.Text, lazy.Words("docker podman docker-compose podman-compose nerdctl kamal").Has(part.Name)
		if inside { // variables are those of its options
			text = joinWords(part.Args)
		}
		switch {
		case exports.Has(part.Name) && !part.sure:
			tests = false // perhaps for nothing that follows
		case testData().MatchString(text) && !otherData().MatchString(text):
			if exports.Has(part.Name) {
				depth = -1 // for all that follows
			} else if !tests || len(part.Via) < depth {
				depth = len(part.Via)
			}
			tests = true
		case len(part.Via) <= depth, inside, strings.Contains(part.Text, "_ENV="), part.Name == "unset":
			tests = false
		}
		p.lost, p.tests = lost, tests
		if why := cmp.Or(harm(part, p), s.changesFound(i, p)); why != "" && !part.deletesOwn(own) {
			list = append(list, part.Text+": "+why)
		}
		if lazy.Words("cd pushd popd").Has(part.Name) && len(part.Doubts) > 0 {
			lost = true
			clear(own)
		}
		files := part.redirected()
		if lazy.Words("go gcc g++ cc clang rustc curl wget").Has(part.Name) || part.Name == "cp" &&
			!slices.ContainsFunc(part.Args, mayKeep) { // which leave nothing of what was there
			files = append(files, part.written()...)
		}
		if at := slices.IndexFunc(part.Args, copies); at >= 0 && part.Name == "sed" {
			written := part.written()
			for _, x := range written[:min(len(written), maxWords)] {
				files = append(files, static(x.path()+strings.TrimPrefix(part.Args[at].Text, "-i")))
			}
		}
		keeps := func(r Redirect) bool { return strings.HasSuffix(r.Op, ">>") || r.Op == "<>" }
		for _, f := range files {
			own[part.found(f.where())] = part.sure && len(part.dirs) == 1 && f.where() != "" &&
				!slices.ContainsFunc(part.Redirects, keeps)
		}
	}
	return list
}

// mayKeep reports an option by which cp may leave what was there, such as -n and -u.
func mayKeep(a Word) bool {
	return strings.HasPrefix(a.Text, "-") && strings.Trim(a.Text, "-aRrfpvT") != ""
}

// copies reports the option by which sed keeps a copy of what it changes.
func copies(a Word) bool { return strings.HasPrefix(a.Text, "-i.") }

// changesFound says where find looks for the files that the command at i changes, if that is not the workspace.
func (s *Script) changesFound(i int, p workdirs) string {
	c := s.Commands[i]
	place := func(a Word) bool { return a.Text == "{}" || a.Text == "%" }
	if !c.gainsWords() {
		return ""
	} else if !slices.ContainsFunc(c.Args, place) {
		c.Args = append(slices.Clip(c.Args), static("{}"))
	}
	at, from := i-1, max(c.input.from, i-maxWords)
	for at >= from && !lazy.Words("find fd grep rg ls").Has(s.Commands[at].Name) {
		at--
	}
	if at < from || !slices.ContainsFunc(c.written(), place) {
		return ""
	}
	finder := &s.Commands[at]
	folders := finder.Args
	if finder.Name != "find" {
		folders, _ = splitOptions(folders, "-e -g -t -A -B -C --include --exclude --glob --type")
		if finder.Name != "ls" { // with a pattern before them
			folders = folders[min(1, len(folders)):]
		}
	}
	for _, a := range folders {
		if lazy.Words("-H -L -P").Has(a.Text) {
			continue
		} else if strings.HasPrefix(a.Text, "-") {
			break
		} else if why := p.write(a); why != "" && !p.temporary(a) {
			return "it writes to files that " + finder.Name + " names, and " + why
		}
	}
	return ""
}

// deletesOwn reports rm with such files alone.
func (c *Command) deletesOwn(own map[string]bool) bool {
	return c.Program.Text == "rm" && len(c.Args) > 0 && len(c.dirs) == 1 &&
		len(c.Via)+len(c.Redirects)+len(c.Assigns) == 0 && !slices.ContainsFunc(c.Args, func(a Word) bool {
		return a.Text != "-f" && (a.where() == "" || !own[c.found(a.where())])
	})
}

func add(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// harmful are programs made to delete, to escalate or to change the machine.
var harmful = table{
	{"it deletes", `rm rmdir unlink shred srm wipe truncate trash trash-put trash-empty trash-rm
			scrub sfill rimraf del-cli dropdb dropuser del rd ipcrm`},
	{"it writes to devices or file systems", `dd mkfs mkswap fdisk sfdisk parted gdisk wipefs sgdisk cfdisk
			blkdiscard hdparm mount umount losetup cryptsetup diskutil fsck e2fsck tune2fs resize2fs xfs_growfs xfs_repair
			debugfs dmsetup multipath btrfs zfs zpool mdadm nvme vgremove lvremove pvremove lvreduce vgreduce flashrom fwupdmgr
			tmutil`},
	{"it runs as another user", `sudo doas su pkexec runuser gosu runas gsudo`},
	{"it changes rights or owners", `chown chgrp chattr setfacl setcap`},
	{"it ends processes or the machine", `kill killall killall5 pkill skill xkill shutdown reboot halt poweroff`},
	{"it changes the system", `insmod modprobe rmmod iptables ip6tables nft ufw sysctl systemctl service launchctl
			useradd userdel usermod groupadd groupdel groupmod gpasswd chsh chfn passwd chpasswd visudo crontab at atrm vipw
			dscl nvram bless bcdedit diskpart wmic batch setenforce defaults csrutil swapon swapoff kexec update-alternatives
			loginctl adduser addgroup deluser delgroup depmod dkms grub-install update-grub grub-mkconfig grub2-mkconfig grubby
			mkinitcpio update-initramfs dracut bootctl efibootmgr update-rc.d rc-update chkconfig auditctl aa-teardown
			aa-disable aa-complain apparmor_parser spctl firewall-cmd pfctl netsh ip ifconfig route nmcli resolvectl
			timedatectl hostnamectl localectl hwclock systemd-run update-ca-trust update-ca-certificates schtasks wevtutil reg
			ethtool iwconfig iw tc taskkill supervisorctl rc-service initctl sv`},
	{"it runs what it downloads", `mshta rundll32 regsvr32 certutil bitsadmin`},
	{"it shows secrets", `secret-tool gopass pass security pbpaste wl-paste gcore arecord fswebcam imagesnap`},
	{"it reaches other machines", `nc ncat netcat socat telnet ssh scp sftp ftp tftp rclone s3cmd s5cmd sendmail
			masscan hydra medusa sqlmap msfconsole msfvenom aircrack-ng ettercap arpspoof hping3 bettercap tcpdump tshark
			dumpcap mitmproxy mitmdump sshuttle smbclient msmtp swaks rsh rcp rlogin`},
	{changesSystems, `terraform tofu terragrunt pulumi cdk cdktf kubectl oc helm helmfile aws eksctl gcloud gsutil
			bq az doctl hcloud fly flyctl heroku kops nomad consul vault etcdctl argocd flux istioctl velero kubeadm linode-cli
			scw ibmcloud oci cf dokku pscale neonctl turso mc azcopy railway amplify copilot eb sam skaffold ansible-playbook
			crictl ctr rabbitmqctl influx openstack talosctl`},
}.indexed()

// harmfulUses are commands that are harmful with some words only, by program. They are written like deny rules, with |
// between words that are alike; docker* stands for it and those that are used like it.
var harmfulUses = sync.OnceValue(func() map[string][]use {
	return table{
		{"it rewrites what others have", `git push --force`},
		{"it throws changes away", `git reset --hard|--merge, git checkout --|-f|-p|--ours|--theirs, git checkout
			--pathspec-from-file, git switch|checkout-index -f, git read-tree --reset, git worktree remove -f, git submodule
			deinit|update -f, hg update -C, hg revert, svn revert, jj abandon|restore, jj op abandon|restore`},
		{"it deletes", `git push --delete, git clean|prune, git branch -D, git tag -d, git rm|mv -f, git stash drop|clear,
			git reflog expire|delete|drop, git gc --prune, git repack -a -d, git symbolic-ref -d, git notes remove|prune, git
			replace -d, git clear|clear-soft|obliterate|delete-branch|delete-merged-branches|delete-squashed-branches, git
			delete-submodule|delete-tag, fdupes|jdupes -d|--delete, rdfind -deleteduplicates, find -delete, zip -m, tar|bsdtar
			--remove-files, 7z -sdel, hg strip|purge|rollback, hg bookmark|bookmarks -d, svn delete, svn cleanup
			--remove-unversioned|--remove-ignored, jj bookmark delete|d|forget|f, jj git push --deleted, docker* rm|rmi|kill,
			docker swarm leave, docker* container|image|volume|network|system|builder|buildx|pod|machine
			rm|remove|prune|reset|kill, docker* secret|config|context|plugin|service|stack|node|manifest rm|remove, docker*
			compose rm|kill, docker* compose down -v|--rmi, virsh undefine, simctl erase|delete, restic
			forget|prune, borg prune, nix-collect-garbage -d|--delete-older-than, cmake -E rm|remove|remove_directory,
			kafka-topics|kafka-topics.sh --delete,
			kafka-consumer-groups|kafka-consumer-groups.sh --delete|--reset-offsets, kafka-delete-records,
			kafka-delete-records.sh, nats stream|consumer|kv|object rm|del, VBoxManage unregistervm|closemedium --delete,
			bleachbit -c|--clean, b2 rm, ykman piv|fido|oath|openpgp reset, wrangler d1 execute, wrangler r2 bucket|object
			delete, gh repo|release|issue|run|secret|variable|cache|gist|label|ssh-key|gpg-key|codespace|project
			delete|remove, gh release delete-asset, rustup self uninstall, tmux kill-server, wsl --unregister, journalctl
			--vacuum-time|--vacuum-size|--vacuum-files, supabase db reset, vercel|netlify|wrangler|firebase|serverless|sls
			delete|remove|rm, rsync --delete|--del|--delete-before, rsync
			--delete-during|--delete-delay|--delete-after|--delete-excluded|--remove-source-files, gpg
			--delete-secret-keys|--delete-secret-and-public-key`},
		{"it removes programs of the machine", `apt remove|purge|autoremove|autopurge, dnf remove|autoremove, dnf group|grp
			remove, pacman|paru|yay -R, apk del, zypper remove, port|choco|scoop uninstall, winget uninstall, brew
			uninstall|autoremove, dpkg -r|-P, rpm -e, emerge -C|-c|--unmerge|--depclean, xbps-remove, snap remove, flatpak
			uninstall, nix profile remove, nix-env -e|--uninstall, conda|mamba|micromamba env remove, conda|mamba remove
			--all, opam switch remove, gem uninstall, pipx uninstall, uv tool uninstall, npm|pnpm uninstall -g, bun remove
			-g|--global, yarn global remove, cargo uninstall, dotnet tool uninstall -g|--global, brew bundle cleanup
			-f|--force, rustup toolchain|target remove|uninstall, pyenv|rbenv|nodenv|asdf|mise|nvm|fnm|volta|rvm uninstall`},
		{"it changes the system", `brew services start|stop|restart|run|kill, date -s|--set, dmesg -C|-c|--clear, tccutil
			reset, xmrig|minerd|cpuminer`},
		{"it shows secrets", `op read|inject, op item get, gpg --export-secret-keys|--export-secret-subkeys, git credential
			fill, aws configure get|export-credentials, aws secretsmanager get-secret-value|batch-get-secret-value, aws ssm
			get-parameter|get-parameters|get-parameters-by-path --with-decryption, aws sts get-session-token, gcloud auth
			print-access-token|print-identity-token, gcloud secrets versions access, az account get-access-token, az keyvault
			secret show|download, vault kv get, vault read, bw get|export, keyctl read|print|pipe, lpass show|export, keyring
			get, doppler secrets, glab variable get|export, chamber read|export, infisical export|secrets, sops -d|--decrypt,
			age -d|--decrypt, ansible-vault view|decrypt|edit, heroku config, rails credentials:show|credentials:edit, fly
			tokens, kubectl config view --raw, gh auth status -t|--show-token, getent shadow|gshadow, aws ecr
			get-login-password, az storage account keys`},
		{"it has an agent act that asks no one", `claude|claude-code --dangerously-skip-permissions|bypassPermissions,
			codex --dangerously-bypass-approvals-and-sandbox|--yolo|--full-auto, gemini|qwen
			--yolo|-y|--approval-mode=yolo|yolo, aider --yes-always|--yes, cursor-agent -f|--force, amp
			--dangerously-allow-all, toolhost --approve, toolhost trust|approve`},
		{"it ends processes or the machine", `pg_ctl stop|restart|kill, mysqladmin shutdown|kill, adb reboot, fuser
			-k, init|telinit 0|1|6|q|s|S`},
		{"it writes to devices or file systems", `format a:|c:|C:|d:|D:|e:|E:`},
		{"it moves a branch or tag off its commits", `git branch -f|-M|-C, git checkout -B, git switch -C, git
			worktree add -B, git tag|fetch|pull -f`},
		{"it rewrites history", `git filter-branch|filter-repo|update-ref, hg histedit, bfg
			--delete-files|--delete-folders|--replace-text|--strip-blobs-bigger-than, hg push -f`},
		{"it publishes", `npm|pnpm|yarn|bun|deno|lerna|cargo|poetry|uv|hatch|flit|pdm|vsce|ovsx|changeset publish, yarn npm
			publish, npm|pnpm unpublish|deprecate, npm owner|dist-tag add|rm, npm access set|grant|revoke|public, cargo yank,
			cargo|gem owner --add|--remove|-a|-r, gem push|yank, twine upload, mvn deploy, gradle publish, dotnet nuget
			push|delete, nuget push|delete, mix hex.publish, pod trunk push, dart|flutter pub publish, docker* push,
			goreleaser release, semantic-release, docker* image|manifest|compose push,
			vercel|wrangler|firebase|serverless|sls|netlify deploy, vercel --prod, wrangler publish|rollback, wrangler
			deployments rollback, croc send, wormhole send|tx, ffsend upload, hf|huggingface-cli upload|upload-large-folder,
			hub create|release, jsr publish, cargo release, cargo workspaces publish, stack|cabal|conda|anaconda upload,
			docker* build|buildx --push, buildah|crane|oras|apptainer|singularity push, crane
			append|mutate|rebase|copy|cp|tag, skopeo copy, ko publish|build|apply|resolve, gh release create|upload|edit, gh
			workflow run deploy.yml|deploy.yaml|release.yml|release.yaml|publish.yml|publish.yaml, gh gist create|edit, gh
			repo create, glab release create|upload, rake release, python setup.py upload, wrangler secret put|bulk|delete, gh
			pr merge --admin, git svn dcommit, surge, gh-pages, np, release-it, render up|deploy,
			make|just|task|rake|mage|yarn|pnpm|bun deploy|deploy-prod|deploy-production|deploy:prod|deploy:production|publish,
			npm|yarn|pnpm|bun run deploy|deploy-prod|deploy-production|deploy:prod|deploy:production|publish|release, eas
			submit|update|deploy, fastlane release|deliver|supply|pilot|beta`},
		{"it changes accounts, or who may do what", `npm|pnpm|yarn|cargo|docker*|oras login|logout, npm adduser|profile,
			yarn npm login|logout, gem signin|signout, gh auth login|logout|setup-git, gcloud auth login, gh ssh-key|gpg-key
			add, gh secret|variable set, gh repo edit|archive|unarchive|rename|deploy-key, gh workflow disable|enable, gh
			auth token|refresh, glab variable set, npm token create|revoke, npm team|org|hook
			add|set|rm|create|destroy, glab repo archive|transfer`},
		{deletesData, `rails|rake
			db:drop|db:drop:all|db:reset|db:purge|db:migrate:reset|db:schema:load|db:rollback|db:migrate:down,
			prisma migrate reset, prisma db push --force-reset|--accept-data-loss, sequelize|sequelize-cli
			db:drop|db:migrate:undo|db:migrate:undo:all, alembic downgrade, flyway clean|undo, liquibase
			dropAll|drop-all|rollback|rollback-count, typeorm schema:drop|migration:revert, dbmate
			drop|rollback|down, goose reset|down, sqitch revert, php artisan
			migrate:fresh|migrate:refresh|migrate:reset|migrate:rollback|db:wipe, artisan
			migrate:fresh|migrate:refresh|migrate:reset|migrate:rollback|db:wipe, manage.py flush|reset_db, python
			manage.py flush|reset_db, netlify sites:delete, firebase firestore:delete|database:remove, mongorestore
			--drop, pg_restore -c|--clean, pg_dropcluster, pg_resetwal, knex migrate:rollback|migrate:down, mix
			ecto.drop|ecto.reset|ecto.rollback, dotnet ef database drop, drizzle-kit drop, diesel database
			drop|reset, diesel migration revert|redo, sqlx database drop|reset, sqlx migrate revert, sea-orm-cli
			migrate fresh|refresh|reset|down, migrate drop|down, git lfs prune, flask db downgrade`},
		{changesSystems, `docker* context use`},
		{reachesAll, `docker* run|create, docker* exec --privileged, docker plugin install`},
		{"it changes rights or owners", `chmod -R|777`},
		{"it opens this machine to others", `ngrok http|tcp|tls|start, cloudflared tunnel|access, tailscale
			funnel|serve|up|set, chisel|gost|frpc|rathole|localtunnel|autossh|ttyd|gotty|wetty|code-server, git
			daemon|instaweb, bore local, zrok share, devtunnel host, expose share|share-cwd|serve, lt --port|-p, code
			tunnel`},
		{"it removes traces", `history -c|-d|-w, unset HISTFILE`},
		{"it may write outside of the workspace", `tar|bsdtar -x -P, unzip -:, git apply --unsafe-paths, cpio -i|--extract`},
		{"its options are in a file that is not looked into", `curl -K, wget --config`},
		{"it changes what programs run", `gh alias set|import, gh extension install, go env -w|-u,
			npm|pnpm|yarn|pip|bundle|poetry|composer config set|edit|--edit, npm set, gem sources -a|--add, npm set-script,
			npm|pnpm|yarn --script-shell, apt-key add|del|adv, add-apt-repository, apt-add-repository, dnf config-manager,
			zypper addrepo|ar, flatpak remote-add, nix-channel --add, rpm --import, conda config
			--add|--set|--append|--prepend, direnv allow|permit|grant, mise trust, husky add|set, claude|codex|gemini|qwen mcp
			add|add-json`},
		{"it runs programs", `tar|bsdtar --checkpoint-action|--to-command, wget -e`},
	}.uses()
})

const deletesData = "it deletes data"

// testData is in a command whose data, and that of what it runs, is that of tests, if nothing else says which.
var testData = lazy.Regexp(`^(?:[^=$]+ )?(?:(?:RAILS|RACK|NODE|MIX|APP|FLASK)_ENV=|--env[= ])test(?:ing)?(?: [^=$]+)?$`)

// otherData names another one.
var otherData = lazy.Regexp(`--env[= ](?:[^t ]|t[^e ]|te[^s ]|tes[^t ])|(?:^| )(?:-i|--ignore-environment|-u \w+_ENV)(?: |$)`)

// A use is a command that is written like a deny rule, and what is said of it.
type use struct {
	prefix []string
	says   string
}

// uses are the commands by program, with | between words that are alike and commas between commands.
func (t table) uses() map[string][]use {
	m := map[string][]use{}
	for _, pair := range t {
		for commands := range strings.SplitSeq(strings.ReplaceAll(string(pair[1]), "docker*", "docker|podman|nerdctl"), ",") {
			for _, prefix := range spelledOut(strings.Fields(commands)) {
				for _, one := range append(alike(prefix), prefix) {
					name := usualName(one[0])
					m[name] = append(m[name], use{one, string(pair[0])})
				}
			}
		}
	}
	return m
}

// spelledOut are the lists of words that one with | in its words stands for.
func spelledOut(words []string) [][]string {
	if len(words) == 0 {
		return [][]string{nil}
	}
	var out [][]string
	for first := range strings.SplitSeq(words[0], "|") {
		for _, rest := range spelledOut(words[1:]) {
			out = append(out, append([]string{first}, rest...))
		}
	}
	return out
}

// harmfulUse says why a command with these words could do much harm, "" if it could not.
func (c *Command) harmfulUse(p workdirs) string {
	sub, rest := c.gitArgs()
	if c.dryRun() || c.onlyShows() {
		return ""
	}
	if sub != "" { // without the options before it: -C and -c are others there
		git := *c
		git.Args, git.skip = append([]Word{static(sub)}, rest...), 0
		c = &git
	}
	for _, u := range harmfulUses()[usualName(cmp.Or(c.Name, c.Program.Text))] {
		if u.prefix[0] == "chmod" && keepsRights(c.Args) {
			continue
		}
		if deniesAs(u.prefix, c) && !c.spared(p) && (u.says != deletesData || !p.tests) {
			return u.says
		}
	}
	return cmp.Or(c.harmfulGit(sub, rest, p), c.harmfulWords(), c.harmfulInAny(p))
}

// harmfulGit is harmfulUse for what the words behind a sub-command of git say.
func (c *Command) harmfulGit(sub string, rest []Word, p workdirs) string {
	switch sub {
	case "checkout":
		return when(checksOutFiles(rest), "it throws changes away")
	case "restore":
		return when(!c.spared(p), "it throws changes away")
	case "fetch", "pull":
		return when(slices.ContainsFunc(rest, movesBranch), "it moves a branch or tag off its commits")
	case "push":
		if to, _ := splitOptions(rest, "-o --push-option"); len(to) > 0 && deployRemotes.Has(to[0].Text) {
			return "it publishes"
		}
		return when(anyMatches(rest, address), "it sends the code to an address that is no remote of the repository")
	case "config":
		return when(setsProgram(rest), "it changes what git runs")
	}
	return ""
}

// deployRemotes are remotes of git that run what is pushed to them, by their usual names.
const deployRemotes lazy.Words = "heroku dokku"

// harmfulWords is harmfulUse for programs whose words the table cannot describe.
func (c *Command) harmfulWords() string {
	switch c.Name {
	case "mvn", "mvnw", "gradle", "gradlew", "sbt":
		return when(anyMatches(c.Args, publishes), "it publishes")
	case "npm":
		return when(deniesAs([]string{"npm", "pkg", "set"}, c) && slices.ContainsFunc(c.Args, setsScript),
			"it changes what programs run")
	case "chmod":
		return when(anyMatches(c.Args, setsID), "it changes rights or owners")
	case "curl", "wget", "http", "https", "xh":
		for _, file := range c.sentFiles() {
			if secret(static(file)) {
				return "it sends " + file + ", which may hold secrets"
			}
		}
		switch {
		case anyMatches(c.Args, controlSocket):
			return reachesAll
		case anyMatches(c.Args, metadata):
			return "it shows secrets"
		}
		return when(anyMatches(c.Args, deletes) && !c.local(), "it deletes")
	case "docker", "podman", "nerdctl":
		first := leading("H= c= l= D host= context= connection= log-level= config= debug").before(c.Name, c.Args)
		to := first.last("H", "c", "host", "context", "connection").Text
		return when(to != "" && !ownEngine().MatchString(to), changesSystems)
	case "redis-cli", "valkey-cli":
		for i, a := range c.Args {
			if word := strings.ToLower(a.Text); redisHarms.Has(word) || redisGroups.Has(word) &&
				(i+1 == len(c.Args) || !redisLooks.Has(strings.ToLower(c.Args[i+1].Text))) {
				return "it deletes data, or changes the server"
			}
		}
	case "gh", "glab":
		return when(c.changesGitHub(), "it may change or delete what is on GitHub or GitLab")
	case "kubectl", "oc":
		if sub := c.subFirst().Args; len(sub) > 1 && sub[0].Text == "get" && slices.ContainsFunc(sub, func(a Word) bool {
			return strings.Contains(strings.ToLower(a.Text), "secret")
		}) && anyMatches(sub, showsValues) {
			return "it shows secrets"
		}
	case "rsync":
		return when(!c.fetchesFiles() && slices.ContainsFunc(c.Args, func(a Word) bool {
			return strings.Contains(a.Text, ":") || !a.Static
		}), "it reaches other machines")
	}
	return ""
}

// harmfulInAny is harmfulUse for words that say the same behind many programs.
func (c *Command) harmfulInAny(p workdirs) string {
	switch {
	case c.maybe && databases.Has(c.Name) && hasWord(c.Args, statementOptions):
		return "it changes or runs what is in a database"
	case fetchers.Has(c.Name) && c.runsAddress():
		return "it runs what it downloads"
	case editors.Has(c.Name) && c.installsFile():
		return "it installs an extension from a file"
	case (servers.Has(c.Name) || slices.ContainsFunc(c.Args, func(a Word) bool {
		return a.Text == "http.server" || c.Name == "php" && a.Text == "-S"
	})) && slices.ContainsFunc(c.Args, leadsOut):
		return "it opens this machine to others"
	case !p.tests && c.deletesByName():
		return "it deletes"
	case lazy.Words("rails bundle python python3 php artisan manage.py").Has(c.Name) &&
		slices.ContainsFunc(c.Args, func(a Word) bool {
			return deletesAll.Any(func(part string) bool { return strings.Contains(a.Text, part) })
		}):
		return "it deletes data"
	}
	return ""
}

// deletesAll are in programs that delete what is in a database, by the libraries of Rails, Django and Laravel.
const deletesAll lazy.Words = ".delete_all .destroy_all ).delete() ::truncate("

// installsFile reports an editor that installs an extension that is not named as the shops do: publisher.name
func (c *Command) installsFile() bool {
	_, options := splitOptions(c.Args, "--install-extension")
	return slices.ContainsFunc(options, func(g given) bool {
		return g.name == "--install-extension" && (!g.value.Static || !extensionName().MatchString(g.value.Text) ||
			strings.HasSuffix(g.value.Text, ".vsix"))
	})
}

var extensionName = lazy.Regexp(`^[\w-]+\.[\w-]+(@[\w.-]+)?$`)

// servers are programs that offer a folder to others.
const servers lazy.Words = "serve http-server live-server httpd"

var (
	deleteVerbs lazy.Words = `delete destroy drop purge erase wipe terminate`
	// freeWords are programs whose first words may be anything: names of files, packages, scripts and branches.
	freeWords lazy.Words = `git npm yarn pnpm bun deno cargo pip pip3 uv poetry bundle composer gem go dotnet mix flutter
		dart swift npx bunx pnpx uvx pipx hg jj curl wget http https xh redis-cli valkey-cli`
	subCommand = lazy.Regexp(`^[a-z][a-z0-9:_-]*$`)
)

// deletesByName reports a sub-command whose name says that it deletes, of any program that has some.
func (c *Command) deletesByName() bool {
	_, wraps := wrappers()[c.Name]
	_, interprets := interpreterOf(c.Name)
	if c.maybe || c.built || wraps || interprets || freeWords.Has(c.Name) || writers.Has(c.Name) || shells.Has(c.Name) ||
		projects.Has(c.Name) || runners()[c.Name] {
		return false
	}
	for _, a := range c.Args[:min(3, len(c.Args))] {
		switch {
		case strings.HasPrefix(a.Text, "-"):
		case !subCommand().MatchString(a.Text):
			return false
		case slices.ContainsFunc(strings.FieldsFunc(a.Text, notLetter), deleteVerbs.Has):
			return true
		}
	}
	return false
}

// setsScript reports a word that npm pkg set is given for a script, or for all of them.
func setsScript(a Word) bool {
	return !a.Static || strings.HasPrefix(strings.Trim(a.Text, `["'`), "scripts")
}

// redisHarms are commands of Redis, in small letters, that delete data, run scripts or change the server; those of
// redisGroups do so but for the words behind them in redisLooks.
const (
	redisHarms lazy.Words = `flushall flushdb del unlink eval evalsha --eval fcall shutdown slaveof replicaof failover
		migrate restore swapdb`
	redisGroups lazy.Words = `config function script module debug cluster acl`
	redisLooks  lazy.Words = `get info nodes slots shards list exists whoami help object`
)

// managers are other harmful programs whose sub-commands say whether they change anything.
const managers lazy.Words = `service launchctl ufw loginctl nft systemctl defaults btrfs zfs zpool nvme dmsetup
	fwupdmgr tmutil diskutil cryptsetup dkms bootctl firewall-cmd auditctl netsh ip nmcli resolvectl timedatectl
	hostnamectl localectl rc-update schtasks tc iw update-alternatives supervisorctl rc-service initctl sv rclone`

// packageBins are programs of packages, which package managers also run without a word such as exec.
const packageBins lazy.Words = "rimraf del-cli trash"

// harmfulName says why a command of a harmful program could do much harm.
func (c *Command) harmfulName() string {
	why := string(harmful(c.Name))
	switch {
	case why == "", c.looks && !c.readsInput() && !c.gainsWords(), c.fetchesFiles(),
		c.script && !packageBins.Has(c.Name), c.onlyShows(), c.dryRun(),
		(why == changesSystems || managers.Has(c.Name)) && c.onlyLooks(),
		c.Name == "kill" && (c.again || c.endsOwnJob() && !c.gainsWords()),
		c.execLooks():
		return ""
	}
	return why
}

// gainsWords reports a command that xargs, parallel or find adds words to.
func (c *Command) gainsWords() bool {
	return c.Fed != "" || slices.ContainsFunc(c.Doubts, func(why string) bool {
		return why == wrappers()["xargs"].added || why == wrappers()["parallel"].added || why == findAdds
	})
}

// fetchesFiles reports scp or rsync that copies from other machines, and certainly to none: no keys, and nothing that
// is run unasked here.
func (c *Command) fetchesFiles() bool {
	if c.Name != "scp" && c.Name != "rsync" || c.gainsWords() {
		return false
	}
	from := 0
	for i, a := range c.Args {
		_, remote, other := strings.Cut(a.Text, ":")
		switch {
		case !a.Static && (a.kind != folder || a.split):
			return false
		case a.Text[:min(1, len(a.Text))] == "-":
			if from > 0 || strings.Trim(a.Text, "-aCHhiLlnPpqrtuvz") != "" && a.Text != "--progress" && a.Text != "--dry-run" {
				return false
			}
		case i == len(c.Args)-1:
			return from > 0 && !other
		case other:
			remote = strings.TrimRight(remote, "/")
			if !plainRemote().MatchString(a.Text) || secret(static(remote)) || filenames.AutoExecuted(path.Base(remote)) {
				return false
			}
			from++
		}
	}
	return false
}

// plainRemote is a path that means no more than names of files to a shell on another machine.
var plainRemote = lazy.Regexp(`^[\w.@:/%~+,=*?\[\]-]+$`)

// ownProcess is a substitution that prints what a file keeps of a process, or which one listens on a port.
var ownProcess = lazy.Regexp(`^"?\$\((cat (/tmp/)?[\w.][\w./-]*\.pid|lsof (-(ti|it|t -i) ?(tcp)?:[\d,]+|-i ?(tcp)?:[\d,]+ -t)( -sTCP:LISTEN)?)\)"?$`)

// killsRead is a command that ends the processes whose numbers it reads.
var killsRead = lazy.Regexp(`^xargs( -r| -n ?1| --no-run-if-empty)* kill( -\w+)?( 2> ?/dev/null)?$`)

// endsOwnJob reports kill with jobs of the same shell, or with processes by their numbers: the first is not among them.
func (c *Command) endsOwnJob() bool {
	if len(c.Args) == 2 && c.Args[0].Text == "-0" && !strings.HasPrefix(c.Args[1].Text, "-") {
		return true // it only tells whether there is one
	}
	jobs, args := 0, c.Args
	if len(args) > 2 && (args[0].Text == "-s" || args[0].Text == "-n") && !strings.HasPrefix(args[2].Text, "-") {
		args = args[2:] // the name of a signal, or no signal
	}
	for n, a := range args {
		id := strings.TrimLeft(a.Text, "0")
		switch {
		case a.Text == "0" && len(args) == 1, // the group of its own
			a.Text == "$!" || a.Text == `"$!"` || ownProcess().MatchString(a.Text),
			a.Static && jobName().MatchString(a.Text) && (a.Text[0] == '%' || id > "1" && len(id) < 10): // or they wrap
			jobs++
		case !a.Static || a.Text == "" || a.Text[0] != '-' || jobs > 0 || n > 0 && a.Text != "--": // a group, or all
			return false
		}
	}
	return jobs > 0
}

// serverNames are programs that serve or build while one develops.
const serverNames lazy.Words = `node deno bun vite esbuild webpack next-server nodemon tsx ts-node jest vitest uvicorn
	gunicorn hypercorn flask celery puma rails hugo jekyll air chromedriver geckodriver`

var (
	// server is a part of a command line that a tool of builds has, and no other program.
	server = lazy.Regexp(`^((node|python3?( -m)?|deno|bun|ruby|php|java( -jar)?|(go|cargo|uv|flask|npm|pnpm|yarn) run|npx|` +
		`rails) (\./)?[\w/][\w./:-]*\w\w[\w./: -]*|(npm|pnpm|yarn) (start|test|dev)|flask run|` +
		`(next|nuxt|astro|hugo|parcel|puma) (dev|start|serve|server|watch|preview)|` +
		`(vite|webpack(-dev-server)?|esbuild|jest|vitest|nodemon|ts-node|tsx|tsc|` +
		`storybook|playwright|cypress|uvicorn|gunicorn|jekyll|http\.server|http-server|live-server|manage\.py|sidekiq|` +
		`pytest|gradle|wrangler|\w[\w-]*\.(py|js|ts|mjs|rb|jar))( [\w./: -]+)?)$`)
)

// execLooks reports kubectl exec with a command behind -- that only reads.
func (c *Command) execLooks() bool {
	at := slices.IndexFunc(c.Args, func(a Word) bool { return a.Text == "--" })
	if c.Name != "kubectl" && c.Name != "oc" || at < 0 || at+1 == len(c.Args) || c.gainsWords() ||
		slices.ContainsFunc(c.Args, func(a Word) bool { return !a.Static }) || c.subFirst().Args[0].Text != "exec" {
		return false
	}
	inner := Command{Name: c.Args[at+1].Text, Program: c.Args[at+1], Args: c.Args[at+2:]}
	return lookers.Has(inner.Name) && onlyReads(&inner, workdirs{any: true}) == "" &&
		(naming.Has(inner.Name) || !slices.ContainsFunc(inner.Args, func(a Word) bool {
			return secret(a) || secretWord().MatchString(a.Text)
		}))
}

const lookers lazy.Words = `ls cat head tail ps df du pwd date whoami id hostname uname stat wc grep free uptime which
	find`

var (
	// publishes are goals and tasks of builds that publish, but not those that do so on this machine alone.
	publishes = lazy.Regexp(`^(deploy|[\w.:-]*:deploy|release:perform|([\w:-]*:)?(publish([A-Z]\w*To\w+)?|` +
		`publish(To(Maven(Central)?Repository|MavenCentral|Sonatype\w*)|Plugins|Signed|AllPublications\w*)?|uploadArchives|` +
		`closeAndRelease\w*)|\+publish(Signed)?|sonatypeBundleRelease)$`)
	setsID = lazy.Regexp(`^([2-7][0-7]{3}|[ugoa]*[+=][rwxXt]*s[rwxXst]*)$`)
	// showsValues are formats of kubectl with all of an object.
	showsValues = lazy.Regexp(`^(-o|--output)?=?(json|yaml|go-template|template|custom-columns)`)
	address     = lazy.Regexp(`^[a-z+]+://|^[\w.-]+@[\w.-]+:`)
	// controlSocket is one by which whoever writes to it starts containers.
	controlSocket = lazy.Regexp(`\b(docker|containerd|podman|crio)\.sock$`)
	// metadata is where a machine in a cloud is given what it logs in with.
	metadata  = lazy.Regexp(`\b(169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200)\b|fd00:ec2::254`)
	ownEngine = lazy.Regexp("^" + ownEngines + "$")
	deletes   = lazy.Regexp(`^(-X|--request=|--method=)?(?i:delete)$`)
	// fetched is an address that code is fetched from, and registry one of a registry that many use.
	fetched  = lazy.Regexp(`^(-\w|--[\w-]+=|[\w.\[\]-]+@)?(https?:|(git|ssh)[+:@]|(github|gitlab|bitbucket|gist):)`)
	registry = lazy.Regexp(`https://(pypi\.org|registry\.(npmjs\.org|yarnpkg\.com)|rubygems\.org|download\.pytorch\.org)(/|$)`)
)

// ownEngines are the addresses and contexts of containers on this machine.
const ownEngines = `((unix|npipe):[\w./$:{}-]*|tcp://(localhost|127(\.\d+){3})(:\d+)?/?|default|desktop-linux|` +
	`colima(-[\w-]+)?|orbstack|rootless)`

// sentFiles are the files that a client of HTTP would send: -T file, -d @file, -F name=@file.
func (c *Command) sentFiles() (files []string) {
	_, options := splitOptions(c.Args, "-T --upload-file --post-file --body-file")
	for _, a := range c.Args {
		_, file, attached := strings.Cut(strings.Replace(a.Text, "=<", "@", 1), "@")
		if attached && !strings.Contains(a.Text, "://") {
			options = append(options, given{value: static(file)})
		}
	}
	for _, g := range options {
		file, _, _ := strings.Cut(g.value.Text, ";")
		files = append(files, file)
	}
	return files
}

// sendsOutside says which file such a client sends that is not of the workspace.
func (c *Command) sendsOutside(p workdirs) string {
	if !clients.Has(c.Name) || c.local() {
		return ""
	}
	for _, file := range c.sentFiles() {
		if why := p.outside(static(file)); path.IsAbs(file) && why != "" && !temporary(file) {
			return "it sends a file, and " + why
		}
	}
	return ""
}

const clients lazy.Words = "curl wget http https xh"

// databases are clients that run what is behind some options; in another system they are no doubt of their own.
const (
	databases        lazy.Words = "psql mysql mariadb mongosh mongo sqlite3 cqlsh clickhouse-client"
	statementOptions lazy.Words = "-c -e -f --command --execute --eval --file"
)

// fetchers run, or install, what they fetch.
const fetchers lazy.Words = "go npx bunx pnpx uvx pipx deno bun nix npm pnpm yarn pip pip3 uv gem cargo poetry"

// goTools begin the names of modules that many use.
const goTools lazy.Words = `golang.org/x/ google.golang.org/ go.uber.org/ mvdan.cc/ honnef.co/ gotest.tools/ sigs.k8s.io/
	github.com/golang/ github.com/golangci/ github.com/golang-migrate/ github.com/google/ github.com/sqlc-dev/
	github.com/vektra/ github.com/bufbuild/ github.com/go-delve/ github.com/air-verse/ github.com/cosmtrek/air
	github.com/swaggo/ github.com/pressly/goose github.com/a-h/templ github.com/securego/gosec github.com/goreleaser/`

// runsAddress reports a program that fetches what it runs, or installs, from an address, and not from a registry.
func (c *Command) runsAddress() bool {
	if c.Name == "go" {
		return c.foreignModule("run") != ""
	}
	from := func(a Word) bool { return fetched().MatchString(a.Text) && !registry().MatchString(a.Text) }
	for i, a := range c.Args {
		switch {
		case slices.Contains([]string{"install", "i", "add"}, a.Text):
			return slices.ContainsFunc(c.Args[i:], from)
		case strings.HasPrefix(a.Text, "-"),
			slices.Contains([]string{"run", "x", "exec", "dlx", "serve", "shell", "pip", "tool"}, a.Text):
		default:
			return from(a)
		}
	}
	return false
}

// foreignModule is the name of the program that a sub-command of go fetches and builds, "" if many use its module.
func (c *Command) foreignModule(sub string) string {
	const values = "-C -exec -tags -ldflags -gcflags -asmflags -mod -modfile -overlay -p -pgo -toolexec"
	operands, _ := splitOptions(c.Args, values)
	if c.Name != "go" || len(operands) < 2 || operands[0].Text != sub ||
		goTools.Any(func(from string) bool { return strings.HasPrefix(operands[1].Text, from) }) {
		return ""
	}
	module, _, versioned := strings.Cut(operands[1].Text, "@")
	if version, major := strings.CutPrefix(path.Base(module), "v"); major && digits(version) {
		module = path.Dir(module)
	}
	return when(versioned, path.Base(module))
}

// harm says why a command could do much harm, "" if it could not.
func harm(c *Command, p workdirs) string {
	if c.severe {
		return strings.Join(c.Doubts[:min(3, len(c.Doubts))], "; ")
	}
	unredirected := *c
	unredirected.Redirects = nil // which are examined by themselves
	if why := cmp.Or(c.harmfulName(), c.harmfulUse(p)); why != "" && !c.deletesAgain(p) &&
		onlyReads(&unredirected, p) != "" {
		return why
	}
	if strings.HasPrefix(c.Name, "mkfs") {
		return string(harmful("mkfs"))
	}
	if writers.Has(c.Name) && c.Name != "git" && onlyReads(c, p) != "" {
		if why := p.overwrites(c); why != "" {
			return why
		}
	}
	if why := cmp.Or(c.showsKeys(p), c.sendsOutside(p)); why != "" {
		return why
	}
	if name := c.redirectsPrograms(); name != "" {
		return "it sets " + name + ", which changes what programs run"
	}
	for _, r := range c.Redirects {
		if strings.HasPrefix(r.Target.Text, "/dev/tcp/") || strings.HasPrefix(r.Target.Text, "/dev/udp/") {
			return "it reaches other machines"
		}
		if !r.Writes {
			continue
		}
		if why := p.write(r.Target); why != "" && !p.temporary(r.Target) {
			return "it writes to a file, and " + why
		}
	}
	if c.otherDirectory() || c.onlyShows() || len(c.Doubts) == 0 && onlyReads(c, p) == "" {
		return ""
	}
	links := c.Name == "ln" || c.Name == "link" // which may lead out
	sub, rest := c.gitArgs()
	for _, x := range c.written() {
		beside, in := strings.CutPrefix(strings.TrimSuffix(x.Text, "/"), "../")
		if sub == "worktree" && rest[0].Text == "add" && in && x.Static && p.atRoot() && !strings.Contains(beside, "/") &&
			!strings.HasPrefix(beside, ".") { // it is new, or git refuses
			continue
		}
		if why := p.write(x); why != "" && (links || !p.temporary(x) && !p.intoTemp(c, x)) {
			return "it writes to a file, and " + why
		}
	}
	return ""
}

var homeFolder = lazy.Regexp(`^"?(~|\$HOME\b|\$\{HOME\b)`)

// write says why a file may not be written to. One that is only known when it runs is a doubt of its own.
func (p workdirs) write(x Word) string {
	text := x.path()
	switch {
	case (x.Static || x.kind == glob || x.kind == folder) && text != "" &&
		slices.ContainsFunc(p.names(text), filenames.AutoExecuted):
		return x.Text + executed
	case p.any:
	case !x.Static && (homeFolder().MatchString(x.Text) || homeFolder().MatchString(x.file)):
		return x.Text + " is outside of the workspace"
	case x.Static, x.kind == glob, x.kind == folder:
		return p.outside(x)
	}
	return ""
}
