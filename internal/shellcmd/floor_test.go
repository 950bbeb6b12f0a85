package shellcmd

import (
	"fmt"
	"strings"
	"testing"
)

var catastrophes = []string{
	"rm --recursive --force /", "rm -rf --no-preserve-root /", "rm --no-preserve-root -r x", "rm -fr /", "rm -r -f /",
	"docker run -v /:/h alpine rm -rf /h", "docker run --volume=/:/h:rw x rm -rf /h/*",
	"podman run --rm -v /:/h x sh -c 'rm -rf /h/etc'", "docker run --mount type=bind,src=/,dst=/h x find /h -delete",
	"docker run -v ~:/x y rm -rf /x", "docker run -v /:/mnt x chroot /mnt rm -rf /",
	"docker run --privileged x dd if=/dev/zero of=/dev/sda", "docker run --device=/dev/sda x mkfs.ext4 /dev/sda",
	"btrfs subvolume delete /", "btrfs sub del /home",
	"rm / -rf", "rm -Rf /", "rm -rf -- /",
	"mkfs /dev/sda", "mkfs.ext4 /dev/sda1", "mkfs.xfs -f /dev/nvme0n1", "mkfs -t ext4 /dev/vdb", "mkfs.btrfs $DISK",
	"mke2fs /dev/sdb",
	"dd if=/dev/zero of=/dev/sda", "dd of=/dev/sda if=x.img bs=4M", "dd if=/dev/random of=/dev/nvme0n1p2",
	"dd if=/dev/zero of=/dev/disk2", "dd if=/dev/zero of=/dev/sd?",
	"echo x > /dev/sda", "cat /dev/zero > /dev/sda", "cat image >/dev/mmcblk0", "echo x >| /dev/vda",
	"cp image.iso /dev/sdb", "tee /dev/sda < x", "yes >> /dev/hda", "cat x | tee /dev/sda1",
	"wipefs -a /dev/sda", "wipefs --all /dev/sda1", "shred /dev/sda", "shred -n 3 -z /dev/nvme0n1",
	"blkdiscard /dev/sda",
	"blkdiscard -f /dev/nvme0n1", "mkswap /dev/sda2",
	"sgdisk --zap-all /dev/sda", "sgdisk -Z /dev/sda", "parted /dev/sda mklabel gpt", "parted -s /dev/sda rm 1",
	"fdisk /dev/sda", "sfdisk /dev/sda < table", "hdparm --user-master u --security-erase p /dev/sda",
	"nvme format /dev/nvme0n1", "cryptsetup luksFormat /dev/sda2", "cryptsetup -q erase /dev/sda2",
	"badblocks -w /dev/sdb", "diskutil eraseDisk JHFS+ x disk2", "zpool destroy tank",
	"chmod -R 777 /", "chmod -R 000 /", "chmod --recursive 755 /etc", "chown -R nobody /",
	"chown -R nobody:nobody /usr",
	"chgrp -R x /", "chmod -R 777 ~", "chmod 777 -R /*", "chattr -R +i /", "chown -hR x /var",
	"mv / /tmp/x", "mv /* /dev/null", "mv ~ /dev/null", "mv /etc /tmp", "mv /home/* /tmp",
	":(){ :|:& };:", ":(){ :|: & };:", ": () { : | : & } ; :", "bomb() { bomb | bomb & }; bomb", "f(){ f & f; }; f",
	"function b { b|b& }; b", "b(){ b & b & }; b", "x(){ x|x; };x", "f() { f; f; }; f", "fork(){ (fork|fork)& };fork",
	"while true; do bash & done", "while :; do $0 & done", "while [ 1 ]; do ./a & done", "until false; do sh & done",
	"while ((1)); do sh & done",
	"perl -e 'fork while fork'", "perl -e 'fork while 1'", "python3 -c 'import os\nwhile True: os.fork()'",
	"python -c 'while 1: os.fork()'", "ruby -e 'loop { fork }'",
	"kill -9 -1", "kill -KILL -1", "kill -s KILL -1", "kill -15 -1", "kill -- -1", "kill -n 9 -1",
	"find / -delete", "find / -type f -delete", "find / -exec rm -rf {} \\;", "find / -exec rm -rf {} +",
	"find ~ -delete",
	"find /usr -mindepth 1 -delete", "find /* -delete",
	`x=/a; rm -rf "${x//a/}"`, `x=/abc; rm -rf "${x:0:1}"`, `x=/abc; rm -rf "${x%%[a-z]*}"`, `x=ab/; rm -rf "${x: -1}"`,
	`x=/etc/x; rm -rf "${x%/*}"`, `x=RM; ${x,,} -rf /`, `x='r m'; ${x/ /} -rf /`, `x=${PWD%%[a-z]*}; rm -rf $x`,
	`IFS=,; x=rm,-rf,/; $x`, `let x=1; rm -rf /$((x-1))/..`, `rm -rf "/$(echo)"`,
	"find / | awk '{print \"rm -f \" $0}' | sh", "ls / | sed 's|.*|rm -rf /|' | sh",
	"echo 'sn -sg /' | tr 'sng' 'rmf' | sh", "echo '-rf /' | xargs rm",
	"printf '/dev/%s' sda | xargs wipefs -a", "env X=/ sh -c 'rm -rf \"$X\"'", `rm -rf "$(dirname /x)"`, "rm -rf $(dirname /etc)",
	"rm -rf /{,*}", "rm -rf ~/{.,}*", "rm -rf {/,}", "rm -rf /home/$(whoami)", `rm -rf "/home/$(id -un)/"`, "a=rm; a+=' -rf /'; $a", `x=/us; x+=r; rm -rf "$x"`, "d=SDA; cat /dev/zero > /dev/${d,,}", "awk 'BEGIN{print \"mkfs.ext4 /dev/sda\"}' | sh",
	"rsync -a --delete empty/ /", "rsync -a --delete empty/ ~/", "truncate -s 0 /dev/sda",
	"> /etc/passwd", ": > /etc/shadow", "echo x > /etc/passwd", "echo c > /proc/sysrq-trigger",
	"echo b >/proc/sysrq-trigger",
	"cd / && rm -rf *", "cd /; rm -rf .", "cd ~ && rm -rf *", "cd && rm -rf .", "cd /usr && rm -rf ./*",
	"cd / && find . -delete", "cd $HOME && rm -rf .* *",
	"echo / | xargs rm -rf", "printf '/' | xargs -0 rm -r", "python3 -c 'import os; os.system(\"rm -rf /\")'",
	"/bin/r? -rf /", "/usr/bin/[r]m -rf ~", "/???/rm -rf /etc", "rimraf /", "npx rimraf ~", "del-cli / --force",
	"trash ~/*",
	"trash-put /usr", "cmake -E rm -rf /", "cmake -E remove_directory ~", "tar --remove-files -cf a.tar /etc",
	"tar -czf a.tgz --remove-files ~", "python3 -c 'import shutil,os; shutil.rmtree(os.path.expanduser(\"~\"))'",
	"python3 -c 'shutil.rmtree(Path.home())'", "ruby -e 'FileUtils.rm_rf \"/\"'", "ruby -e 'FileUtils.rm_r(Dir.home)'",
	"perl -e 'use File::Path; remove_tree(\"/\")'", "node -e 'fs.rmSync(os.homedir(), {recursive: true})'",
	"perl -e 'system(\"rm -rf /\")'", "python3 -c 'import shutil; shutil.rmtree(\"/\")'",
	"node -e 'require(\"child_process\").execSync(\"rm -rf ~\")'", "x=/; rm -rf $x", "X=/usr; rm -rf \"$X\"",
	"r=rm; $r -rf /", "D=/; cd /tmp; rm -rf \"${D}\"*", "rm -rf ${NOTHING:-/}", "rm -rf $(echo /)", "rm -rf `echo /`",
	"export T=/; rm -rf $T", "T=$HOME; rm -rf $T", "rm -rf {/bin,/usr}", "rm -r{f,} /", "rm -rf ./../../../../../..",
	"echo hi; rm -rf /", "false || rm -rf /", "true && (rm -rf /)", "if true; then rm -rf /; fi",
	"for d in a; do rm -rf /; done", "rm -rf / 2>/dev/null &", "rm -rf / # clean", "ls\nrm -rf /\n", "! rm -rf /",
	"{ rm -rf /; }", "f() { rm -rf /; }; f", "a=$(rm -rf /)", "echo <(rm -rf /)", "trap 'rm -rf /' EXIT",
	"cat <<E | bash\nE\nrm -rf /", "cat <<E | sh\nrm -rf /\nE", "bash <(echo rm -rf /)", "bash <(echo 'rm -rf /')",
	"rm -rf /home/me/*", "chmod -R 0 /home/alice", "find /home/alice -delete", "cd /home/alice && rm -rf *",
	"git -C / clean -fdx", "git -C ~ clean -xdf", "cd / && git clean -fdx",
	"kill -9 1", "kill -s KILL 1", "killall5 -9", "pkill -9 .", "pkill -KILL '.*'",
	"zfs destroy -r tank", "mdadm --zero-superblock /dev/sda", "vgremove -f x", "lvremove -f x", "userdel -rf root",
	"dd if=x of=/proc/sysrq-trigger", "echo b | tee /proc/sysrq-trigger",
	"trap -- 'rm -rf /' EXIT", "eval -- rm -rf /", "env -C / rm -rf .", "env --chdir=/ rm -rf .",
	"env --chdir / rm -rf *",
	"sudo -D / rm -rf .", "pushd /; rm -rf *", "pushd ~ && rm -rf .",
	"set -- /; rm -rf \"$1\"", "set -- a /; rm -rf \"$@\"", "bash -c 'rm -rf \"$1\"' _ /", "sh -c 'rm -rf $*' _ a /",
	"a=(/); rm -rf \"${a[@]}\"", "a=(x /); rm -rf ${a[*]}", "x='a /'; rm -rf $x",
	"x=/; cd $x; rm -rf *", "bash -c 'cd \"$1\" && rm -rf *' _ /", "set / ; rm -rf $1", "source <(echo rm -rf /)",
	"cat <<E | sudo bash\nrm -rf /\nE", "echo rm -rf / | sudo sh", "cat <<E | xargs rm -rf\n/\nE",
	"cd ~/x/.. && rm -rf *",
	"grep x y; echo / | xargs rm -rf", "xargs rm -rf <<< /", "xargs rm -rf <<E\nx\n/\nE",
	"find / -print0 | xargs -0 rm -f", "ls / | xargs rm -rf", "find / -type f | sudo xargs rm",
	"bash <<E\nrm -rf /\nE", "rm -rf /\n'unfinished",
	"rsync -a --delete-after empty/ /", "rsync -a --delete-before empty/ /usr", "rsync -a --delete-excluded x/ ~/",
	"rsync -a --remove-source-files / /mnt/x", "git --work-tree=/ clean -fdx", "git --work-tree / clean -xfd",
	"GIT_WORK_TREE=/ git clean -fdx",
	"find / -fprint /dev/sda", "find . -fprintf /dev/sda1 x", "sort -o /dev/sda x", "curl -o /dev/sda http://x",
	"wget -O /dev/nvme0n1 x", "echo x | tee /dev/null /dev/sda",
	"tee /etc/passwd < x", "echo x | sudo tee /etc/shadow", "cp /dev/null /etc/passwd", "install /dev/null /etc/shadow",
	"ln -sf /dev/null /etc/passwd", "mv /etc/passwd /tmp/x", "truncate -s 0 /etc/passwd", "dd if=x of=/etc/shadow",
	"rm -f /etc/passwd", "sudo rm /etc/shadow", "shred -u /etc/gshadow", "truncate -s 0 /usr/*",
	"find / -exec chmod 000 {} +", "find / -type f | xargs chmod 777", "find / -exec chown nobody {} +",
	"find / -exec mv {} /dev/null \\;", "find / -exec truncate -s 0 {} +", "find / -name '*' -delete",
	"find / ! -name x -delete",
	"find / -size +0 -delete", "ls -d /* | xargs rm -rf", "ls / | while read x; do rm -rf \"/$x\"; done",
	"for d in $(ls /); do rm -rf /$d; done", "rm -rf $(ls -d /*)", "cd / && ls | xargs rm -rf",
	"rm${IFS}-rf${IFS}/", "rm$IFS-rf$IFS/", "rm${IFS%??}-rf${IFS:0:1}/", "r=r m=m; $r$m -rf /", "r=r; ${r}m -rf /",
	"x=/tmp; rm -rf ${x%tmp}", "x=a/; rm -rf \"${x#a}\"", ": ${dir:=/}; rm -rf $dir", "printf -v dir /; rm -rf $dir",
	"git -c alias.x='!rm -rf /' x", "setfacl -R -b /", "setfacl -Rm u:x:rwx /", "chmod 000 /", "chmod a-rwx /",
	"for ((;;)); do $0 & done", "for ((;;)) do sh & sh & done",
	"dd_rescue a /dev/sda", "bmaptool copy --nobmap a /dev/sdb", "dc3dd wipe=/dev/sdb", "dc3dd if=a of=/dev/sdb",
	"nwipe --autonuke /dev/sdb", "scrub /dev/sda", "mkntfs /dev/sda1", "pvcreate -ff -y /dev/sda",
	"zpool create -f x /dev/sda",
	"zpool labelclear -f /dev/sda", "mdadm --create /dev/md0 --level=1 --raid-devices=2 /dev/sda /dev/sdb",
	"sg_format --format /dev/sda", "ntfsclone -O /dev/sda1 a", "qemu-img convert -O raw a /dev/sda",
	"qemu-img dd if=a of=/dev/sda",
	"bcachefs format /dev/sda", "fio --name=x --rw=randwrite --filename=/dev/sda", "newfs /dev/da0",
	"fio --name=x --rw=write:4k --filename=/dev/sda", "fio --name=x --rw=randtrimwrite --filename=/dev/sda",
	"dd if=a of=/dev/block/8:0", "flashrom -p internal -w a.rom", "dmsetup remove_all",
	"echo 'rm -rf ~' > x; sh x", "printf '#!/bin/sh\nrm -rf /\n' > x; chmod +x x; ./x", "tee x <<< 'rm -rf /'; . ./x",
	"cd a && echo 'rm -rf /' > x; cd ..; sh a/x", "cat > x.sh <<'E'\nrm -rf /\nE\nsudo bash x.sh",
	"printf 'a:\n\trm -rf ~\n' > Makefile && make", "printf 'a: b\nb:\n\t@rm -rf $(X)\nX = /\n' > a.mk; make -f a.mk",
	"printf 'a:\n\tls\nb:\n\t-rm -rf $$HOME\n' > x/Makefile; make -C x b", "printf 'a:;rm -rf /\n' | make -f -",
	"cat > justfile <<'E'\nx:\n  rm -rf ~\nE\njust x", "cat > build.ninja <<'E'\nrule r\n  command = rm -rf /\nE\nninja",
	"echo '{\"scripts\":{\"x\":\"rm -rf ~\"}}' > package.json && npm run x",
	"echo '{\"scripts\":{\"postinstall\":\"rm -rf ~\"}}' > package.json; npm install",
	"echo 'import shutil; shutil.rmtree(\"/\")' > t.py && python t.py", "cat > a.js <<'E'\nfs.rmSync('/usr')\nE\nnode a.js",
	"python3 - <<'E'\nimport shutil\nshutil.rmtree('/home')\nE", "python3 -c 'shutil.rmtree(pathlib.Path(\"/etc\"))'",
	"echo 'import os; os.system(\"rm -rf /\")' | python3", "Rscript -e 'unlink(\"/\", recursive=TRUE)'",
	"julia -e 'rm(\"/home\", recursive=true)'", "deno eval 'Deno.removeSync(\"/\")'",
	"fd . / -x rm -rf", "fdfind -H . ~ --exec-batch rm -r {}", "fd --base-directory / -x rm -rf", "fd . /etc -X shred -u",
	"ed <<'E'\n!rm -rf /\nq\nE", "printf '1,$w !rm -rf /\n' | ed -s x", "ex <<< '!rm -rf ~'", "vim -es <<'E'\n:!rm -rf /\nE",
	"sqlite3 x <<< '.system rm -rf /'", "psql <<'E'\n\\! rm -rf /\nE", "gdb -batch <<< 'shell rm -rf /'",
	"ls / | awk '{print \"/\"$0}' | xargs rm -rf", "a=(x / y); rm -rf \"${a[1]}\"", "$(which rm) -rf /", "\"$(command -v rm)\" -rf /",
	"perl -e 'unlink glob(\"/etc/*\")'", "bash /dev/stdin <<< 'rm -rf /'", "echo 'rm -rf /' | tee x.sh; . ./x.sh",
	"echo cm0gLXJmIC8= | base64 -d > x; sh x", "rm -rf $(pwd)/../../../../../../../../../..", "socat /dev/zero /dev/sda",
	"git config alias.x '!rm -rf /'; git x", "emacs --batch --eval '(delete-directory \"/\" t)'",
	"printf 'a:\n\t+rm -rf /\n' > Makefile; make -n", "printf 'a:\n\trm -rf /\n' > Makefile; make -n; make",
	"printf 'a:\n\t @ + rm -rf /\n' > Makefile; make -n", "printf '%%:\n\trm -rf /\n' > Makefile; make -n",
	"printf 'a:\n\trm -rf /\n' > Makefile; make -- -n", "printf 'Make*:\n\trm -rf /\n' > Makefile; make -n",
	"printf 'Makefile:\n\trm -rf /\n' > Makefile; make -n", "printf 'x := ${shell rm -rf /}\na:\n\trm -rf /\n' > Makefile; make -n",
	"fd . / | xargs rm -rf", "fd -H . ~ -0 | xargs -0 rm -rf", "tree -fi / | xargs rm -rf", "rg --files / | xargs rm -f",
	"printf '%s %s %s' rm -rf / | sh", `$(printf '\x72\x6d') -rf /`, "rm -rf \"$(realpath /)\"", "rm -rf /usr/{bin,lib}",
	"f() { xargs rm -rf; }; echo / | f", "echo / | xargs cd; rm -rf /",
	"echo cm0gLXJmIC8= | base64 -d | sh", "base64 --decode <<< cm0gLXJmIC8= | bash", "sh <(echo cm0gLXJmIC8= | base64 -d)",
	"eval \"$(echo cm0gLXJmIC8= | base64 -d)\"", "bash -c \"$(base64 -d <<< cm0gLXJmIC8=)\"",
	"echo cm0gLXJmIC8= | openssl enc -d -base64 | sh", "echo 726d202d7266202f | xxd -r -p | sh", "rev <<< '/ fr- mr' | sh",
	`printf '\162\155\040\055\162\146\040\057' | sh`, `printf '\x72\x6d\x20-rf\x20/' | bash`, "echo 'rm -rf /' | tee x | sh",
	"echo 'ez -es /' | tr a-z n-za-m | sh",
}

// The targets of rm, however they are written, inside whatever runs it.
var (
	deadlyTargets = []string{"/", "//", "/.", "/./", "/*", "/ *", "'/'", `"/"`, `\/`, "/bin/..", "/..", "~", "~/", "~/*",
		"$HOME", "${HOME}", `"$HOME"`, `"${HOME}"/*`, "$HOME/", "~root", "/root", "/usr", "/etc/*", "/bin", "/home",
		"/home/*", "/[a-z]*", "/???", "/.*", "/usr/../", "/var", "/dev", "/tmp/../usr", "x / y", "/{bin,lib}", "${HOME:?}",
		"/*/", "/home/alice", "/home/alice/", "/home/alice/*", "/home/alice/.", "/Users/bob", "/home/$USER", "/home/al*",
		"/proc/self/root/*", "/proc/1/root", "/proc/self/root/home/alice", "~/..", "~/../*", "~/{*,.*}", "$HOME/{*,.*}"}
	removers = []string{"rm -rf %s", "rm -fr %s", "rm -r -f %s", "rm %s -rf", "rm --recursive --force %s",
		"/bin/rm -rf %s", `\rm -rf %s`, "r'm' -rf %s", `"rm" -Rf %s`, "sudo rm -rf %s", "sudo -n rm -rf -- %s",
		"env A=1 rm -rf %s",
		"command rm -rf %s", "nohup rm -rf %s &", "timeout 5 rm -rf %s", "nice -n 5 rm -rf %s", "busybox rm -rf %s",
		"exec rm -rf %s", "time rm -rf %s", "A=1 rm -rf %s", "doas rm -rf %s", "setsid rm -rf %s", "stdbuf -o0 rm -rf %s",
		"xargs rm -rf %s < x", "grm -rf %s", "/opt/homebrew/bin/grm -rf %s", "RM -rf %s", "rm.exe -rf %s",
		"genv grm -rf %s",
		"SUDO Rm -rf %s", "gtimeout 5 rm -rf %s", "xcrun rm -rf %s", "systemd-inhibit --what=sleep rm -rf %s",
		"sudo -u root env B=2 nice rm -rfv %s"}
)

var harmless = []string{
	"echo 'rm -rf /' > x; cat x", "echo 'rm -rf /' > x; sh y", "echo 'rm -rf /' > x; echo ls > x; sh x",
	"cat > x <<'E'\nrm -rf \"$1\"/*\nE\nsh x a", "printf 'a:\n\tls\nb:\n\trm -rf /\n' > Makefile && make",
	"printf 'a:\n\trm -rf $(B)/*\n' > Makefile && make", "printf 'a:\n\trm -rf /\n' > Makefile; make -C x",
	"echo '{\"scripts\":{\"x\":\"rm -rf ~\"}}' > package.json && npm run y", "echo cm0gLXJmIC8= | base64 -d",
	"echo cm0gLXJmIC8= | base64 -d > x", "echo 'shutil.rmtree(\"/\")' > t.py; python u.py", "echo 'rm -rf /' | sh x",
	"python3 -c 'shutil.rmtree(\"/tmp/x\")'", "flashrom -r a.rom",
	"printf 'a:\n\trm -rf /\n' > Makefile; make -n", "printf 'a:\n\trm -rf /\n' > Makefile; make --just-print a", "fd -e pyc . / -x rm",
	"fd . src -x rm -rf", "fd x / -x rm", "ed x <<'E'\n,s/a/b/\nw\nq\nE", "echo 'rm -rf /' | tee x", "a=(x /); rm -rf \"${a[0]}\"",
	"fd x / | xargs rm", "rg --files src | xargs rm", "rm -rf /usr/lib/node_modules/a", "printf '%s' rm -rf / | cat",
	"git config alias.x status", "rm -rf $(pwd)/a", "f() { xargs echo; }; echo / | f",
	"/bin/l? -rf /", "./r? build", "rimraf dist", "npx rimraf ~/a/dist", "trash a", "cmake -E rm -rf build",
	"cmake -E copy / a",
	"tar --remove-files -cf a.tar b", "tar -cf a.tar /etc", "ruby -e 'FileUtils.rm_rf \"dist\"'",
	"python3 -c 'shutil.rmtree(Path.home() / \"a\")'", "node -e 'fs.rmSync(path.join(os.homedir(), \"a\"))'",
	"echo 'rm -rf /' > x; bash -n x", "rm -rf ./build", "rm -rf build dist", "rm -rf /tmp/x", "rm -rf /tmp/*", "rm -rf node_modules/*", "rm -rf *",
	"rm -rf .", "rm -rf ./*", "rm -rf ~/project/build", "rm -rf $HOME/.cache/x", "rm -rf \"$TMP\"/*", "rm -rf $DIR",
	"rm -rf ${BUILD_DIR:?}/*", "rm -rf /var/lib/apt/lists/*", "rm -rf /usr/share/doc/x", "rm -rf /opt/x",
	"rm -rf /home/me/work/x", "rm -rf /home/me/work/*", "rm -rf ~/../x/y", "rm -rf /proc/self/root/tmp/x",
	"git clean -fdx", "git -C sub clean -fdx", "git -C / clean -n", "kill -9 100", "kill -0 1", "pkill -9 x",
	"pkill -P 5 .",
	"zfs destroy tank/a@b", "mdadm --detail /dev/sda", "vgremove --help", "userdel alice", "cat /proc/sysrq-trigger",
	"trap -- 'rm -rf /tmp/x' EXIT", "env -C /tmp rm -rf x", "pushd /; ls; popd; rm -rf *", "pushd build; rm -rf *",
	"set -- build; rm -rf \"$1\"", "bash -c 'rm -rf \"$1\"' _ build", "a=(build dist); rm -rf \"${a[@]}\"",
	"xargs rm -rf <<< build", "find / | grep x | xargs rm -f", "ls /; find . -print0 | xargs -0 rm -rf",
	"find / -name x -print0 | xargs -0 rm -f",
	"find build -print0 | xargs -0 rm -f", "rm -rf $(ls / | head)", "bash <(echo ls /)", "cat <<E | sh\nls /\nE",
	"rm x", "rm -f /tmp/a", "rm -rf /w/build", "rm -rf ../sibling", "rm --help",
	"rm -rf /usr/local/go", "rm -rf /tmp*/x",
	"dd if=/dev/zero of=file.img bs=1M count=1", "dd if=/dev/sda of=disk.img", "dd if=/dev/urandom bs=16 count=1",
	"echo x > /dev/null", "cat x > /dev/stdout", "echo x >/dev/tty", "echo x > /dev/shm/a", "dd of=/dev/null if=x",
	"echo x > dev/sda",
	`echo "rm -rf /"`, "echo 'rm -rf /'", "grep -r 'rm -rf /' .", "rg 'mkfs /dev/sda'", "printf '%s' ':(){ :|:& };:'",
	"git commit -m 'never rm -rf /'", "cat <<E\nrm -rf /\nE", "# rm -rf /", "echo ok # rm -rf /",
	"git log --grep='rm -rf /'", "man rm", "which mkfs",
	"sed -n '/rm -rf \\//p' x", "python3 -c 'print(\"rm -rf /\")'", "awk '/mkfs/' x", "ls /", "ls -la / ~ /etc",
	"find / -name x", "find . -delete", "find build -type f -delete", "find / -name '*.pyc' -delete",
	"find / -maxdepth 1",
	"du -sh /*", "find ~ -name x -exec rm {} +",
	"chmod -R 755 build", "chmod 755 /w/x", "chmod -R u+w .", "chown -R me ./x", "chown -R 1000:1000 /w",
	"chown root /",
	"chmod 777 /tmp/x", "chmod -R 700 ~/.ssh", "chmod -R 755 ~", "mv a b", "mv /tmp/a .", "mv * ../x", "mv build /tmp/",
	"cp -r / /mnt/backup", "cp a /dev/null",
	"kill -9 123", "kill -1 123", "kill %1", "kill -0 1", "kill -HUP 5", "kill -l", "pkill x", "mkfs.ext4 disk.img",
	"mkfs.ext4 -F ./a.img", "mkfs --help", "mkfs.ext4 -V", "wipefs /dev/sda", "wipefs -a disk.img",
	"shred -u secret.txt",
	"fdisk -l /dev/sda", "fdisk -l", "parted /dev/sda print",
	"truncate -s 0 log", "lsblk /dev/sda", "blkid /dev/sda1", "mount /dev/sdb1 /mnt", "smartctl -a /dev/sda",
	"hdparm -I /dev/sda", "sfdisk -d /dev/sda", "rsync -a --delete src/ dst/", "rsync -a / /mnt/x", "nvme list",
	"zpool list", "diskutil list", "badblocks /dev/sdb",
	"f() { echo hi; }; f", "walk() { for f in *; do walk \"$f\" & done; wait; }", "retry() { make || retry; }",
	"while true; do sleep 1; done", "while true; do curl x & wait; done", "while read x; do work $x & done",
	"until make; do sleep 1; done", "a() { b; b; }", "f() { g | h; }; f | f",
	"perl -e 'print 1'", "python3 -c 'import os; os.system(\"ls\")'", "cat /etc/passwd", "echo x >> /etc/hosts",
	"grep root /etc/passwd > out", "echo x > etc/passwd", "cd / && ls", "cd ~ && rm -rf project/build",
	"cd /tmp && rm -rf *", "cd build && rm -rf *", "cd && cd work && rm -rf *",
	"xargs rm -rf < list", "echo a | xargs rm -rf", "ls | xargs rm", "echo / ", "tar -C / -xf x.tar",
	"test -d / && echo yes", "docker run -v /:/host x", "docker run x rm -rf /",
	"docker run -v $PWD:/w x rm -rf /w", "docker run -v /:/h x rm -rf /h/tmp/a",
	"docker exec x rm -rf /etc", "btrfs subvolume delete /mnt/a",
	"btrfs subvolume list /", "rm -rf \"$(mktemp -d)\"", "rm -rf $(pwd)/build",
	"x=build; rm -rf $x", "x=/tmp/y; rm -rf \"$x\"/*", "make clean", "",
	"nvme format.txt", "tee /dev/stderr", "git mv a b", "trap 'rm -rf /tmp/x' EXIT", "ssh host ls /",
	"install -m 755 a /usr/local/bin/", "ln -s / x", "sudo ls /", "chmod +x /usr/local/bin/x",
	"rsync -a --delete-after src/ dst/", "rsync -a --remove-source-files build/ /mnt/x",
	"git --work-tree=sub clean -fdx",
	"find / -fprint out", "sort -o x /dev/sda", "curl -o /dev/null http://x", "chmod a+r /dev/sda", "touch /dev/sda",
	"sudo tee -a /etc/passwd < x", "cp fstab /etc/fstab", "sudo mv /tmp/fstab /etc/fstab", "sed -i s/a/b/ /etc/fstab",
	"cp /etc/passwd x", "rm -f /etc/fstab.bak", "truncate -s 0 /var/log/*.log",
	"find / -user 1000 -exec chown -h 1001 {} +", "find / -type f -exec md5sum {} +",
	"find /var/www -exec chmod 644 {} +",
	"find / -name x -exec rm {} +", "find / -name '*.o' | xargs rm", "find / | head -5 | xargs rm",
	"find /; ls | xargs rm -rf",
	"find / -type f | xargs grep -l x", "ls / | while read x; do du -sh \"/$x\"; done",
	"ls /home | while read u; do rm -rf \"/home/$u/.cache\"; done", "for d in $(ls /tmp); do rm -rf \"/tmp/$d\"; done",
	"rm -rf $(ls)", "ls | while read x; do rm -rf \"$x\"; done", "while read x; do echo \"$x\"; done <<< /",
	"f() { rm -rf \"$1\"; }; f build; ls /", "f() { rm -rf \"$1\"; }; f build; set -- /; echo \"$1\"",
	"f() { f; }; f /",
	"t=$(mktemp -d); f() { rm -rf \"$t\"; }; trap f EXIT; ls /", "eval \"$(ssh-agent)\"; ls /",
	"x='ls /'; $x; rm -rf build",
	"echo / | xargs ls; rm -rf build", "parallel echo ::: / ; rm -rf build", "env -S 'ls' /; rm -rf build",
	"qemu-img convert /dev/sda a", "dd_rescue /dev/sda a", "bmaptool copy a b", "ntfsclone -o a /dev/sda1",
	"zpool status",
	"fio --name=x --rw=read --filename=/dev/sda", "dc3dd if=/dev/sda of=a", "setfacl -Rm u:x:r a", "chmod 755 /",
	"x=/tmp/y; rm -rf ${x%y}build", "git -c alias.x='!ls /' x", "for ((i=0;i<3;i++)); do sh & done",
	"echo ${IFS}; rm -rf build",
	"x=/usr; rm -rf build${x#/usr}", "rm${IFS}-rf${IFS}build", "printf -v x %s /; rm -rf build",
	": ${x:=build}; rm -rf $x",
	"for ((;;)); do sleep 1; done",
	"x=/a/b; rm -rf \"${x%/*}/c\"", "x=/a; rm -rf \"build${x//a/}\"", "x=abc; rm -rf \"${x:0:1}\"",
	"rm -rf \"/tmp/$(echo x)\"", "rm -rf \"build/$((i+1))\"", "rm -rf \"/opt/x$((i))\"", "x=/; ls \"${x}\"; rm -rf \".${x}build\"",
	"v=1.2.3; rm -rf \"app-${v%.*}\" \"/tmp/app-${v//./-}\"", "path=/usr/share/x; rm -f \"${path##*/}\"",
	"awk '{print \"rm -rf /\" $1}' a > list.txt", "python3 -c 'print(\"rm -rf /\")'", "cp <(echo 'rm -rf /') x; cat x",
	"ls | awk '{print \"mv \"$1\" \"$1\".bak\"}' | sh", "find . -name '*.o' | sed 's/^/rm /' | sh", "echo ls / | xargs env; rm -rf build",
	"rm -rf build{,.old}", "rm -rf a/{,b}", "cp a{,.bak}; rm -rf a.bak", "rm -rf /tmp/$(whoami)", "rm -rf \"$(dirname a/b)\"", "x=/usr; x+=/y; rm -rf $x", "env X=build sh -c 'rm -rf \"$X\"'",
	"exec > >(tee log.txt); rm -rf build; echo 'rm -rf /'", "echo 'ls /' | tee >(sh) > a; rm -rf build",
	"git log --format=%h | sed 's/^/git show /' | sh; rm -rf build",
}

func TestCatastrophe(t *testing.T) {
	t.Parallel()
	at := Context{Dir: "/w/a", Root: "/w/a"}
	var deadly []string
	deadly = append(deadly, catastrophes...)
	for _, target := range deadlyTargets {
		for _, r := range removers {
			deadly = append(deadly, fmt.Sprintf(r, target))
		}
	}
	for _, text := range deadly {
		for how, wrapped := range inside(text) {
			if Catastrophe(wrapped, at) == "" {
				t.Errorf("%s: nothing is wrong with %s", how, wrapped)
			}
		}
	}
	for _, text := range harmless {
		for how, wrapped := range inside(text) {
			if why := Catastrophe(wrapped, at); why != "" {
				t.Errorf("%s: %s is refused: %s", how, wrapped, why)
			}
		}
	}
}

// What tr, sed, printf, paste, env and IFS make of a text is what they really make of it, and odd words are no fault.
func TestCatastropheByWhatIsComputed(t *testing.T) {
	t.Parallel()
	at := Context{Dir: "/w/a", Root: "/w/a"}
	for _, text := range []string{`echo rm -rf / | tr '' x | sh`, `echo rm -rf / | tr x '' | sh`,
		`echo 'ez -es /' | tr -- a-z n-za-m | sh`, `echo 'rm -rf /' | tr -cd 'a-z /-' | sh`,
		`echo 'wipefs -a /dev/sda' | tr '[:upper:]' '[:lower:]' | sh`, `echo 'MKFS /dev/sda' | tr '[:upper:]' '[:lower:]' | sh`,
		`echo 'rmx -rf /' | tr -d x | sh`, `echo 'rm  -rf /' | tr -s ' ' | sh`,
		`echo 'rm -rf /' | sed 's/rm/ls/2' | sh`, `echo 'rm -rf /' | sed 's/r+m/ls/' | sh`,
		`echo 'rm -rf /; rm -rf /' | sed 's/rm/ls/' | sh`, `echo 'rm -rf /' | sed '2s/rm/ls/' | sh`,
		`echo 'rm -rf /' | sed -e 's/^*rm/ls/' | sh`, `echo 'xx -rf a' | sed -e s/xx/rm/ -e 's|a$|/|' | sh`,
		`printf 'ls\nrm -rf /\n' | paste | sh`, `printf 'rm -rf / %s' | sh`, `printf 'rm -rf /%s' | sh`,
		`x=//; rm -rf "${x/\//}"`, `x=/etc/a/b; rm -rf "${x%/*/*}"`, `x=/etc.a.b; rm -rf "${x%%.*}"`, `x=a.b/; rm -rf "${x##*.b}"`,
		`x='/ 9'; rm -rf ${x%%[0-9]*}`, `x='a /9'; rm -rf ${x%%[0-9]*}`, `x=/etc; rm -rf "${x:0:9223372036854775807}"`,
		`IFS=/; x=etc; rm -rf /$x`, `while IFS=/ read -r a; do rm -rf /$x; done; x=etc`, `IFS=,; x=/,a; rm -rf $x`,
		`rm -rf $(echo a/dirname /etc)`, `rm -rf $(dirname a /x)`, `rm -rf "$(dirname -- /x)"`, `rm -rf /{,,}`, `rm -rf /{,,,}*`,
		`X=/; env X=build make; rm -rf "$X"/*`, `read X <<< /; env X=build make; rm -rf "$X"`,
		`env X=build make; env X=/ sh -c 'rm -rf "$X"'`, `echo 'rm -rf /' > x; echo a >> x; sh x`,
		"echo 'rm -rf /' | sed -e s/rm/ls/ " + strings.Repeat("-e s/ls/rm/ ", 10) + "| sh",
		`rm -rf "$(cd / && pwd)"`, `x=$(cd /usr; pwd); rm -rf "$x"/*`, `rm -rf $(awk 'BEGIN{print "/"}')`, `rm -rf "$(python3 -c 'print("/")')"`,
		`rm -rf $(dirname $HOME)`, `rm -rf "$(echo abc | sed s/abc/\\//)"`, "rm -rf `echo /usr`/", "x=`dirname /etc`; rm -rf $x", `rm -rf $(printf '%s' /)`,
		`rm -rf $(echo ` + strings.Repeat("build/a ", 40) + `/)`, `rm -rf /$()`,
		strings.Repeat("echo $(date); ", 600) + `echo 'rm -rf /' > x; sh x`,
		`x=$(echo ` + strings.Repeat("a ", 90) + `/); rm -rf $x`,
		`dd if=<(echo 'rm -rf /') of=x; sh x`, `echo 'rm -rf /' | dd of=x && sh x`, `seq 1 | sed 's/1/rm -rf \//' | sh`, `date | sed 's|.*|rm -rf ~|' | bash`,
		`echo 'rxm -rxf /' | tr -d x | sh`, `echo 'rm -rf $1' > a.sh; sh a.sh /`, `printf 'rm -rf "$@"\n' > a; sh -x a ~`, `echo 'rm -rf $2' > a; chmod +x a; ./a b /usr`,
		`node -e 'require("fs").rmdirSync("/",{recursive:true})'`, `rm -rf /mnt/c`, `rm -rf /mnt/c/Users/*`, `cd /mnt/c && rm -rf *`,
		`echo 'rm -rf /' > x; python3 -c '"a"' >> x; sh x`, `echo 'rm -rf /' > x; echo a | tee -a x; sh x`} {
		if Catastrophe(text, at) == "" {
			t.Errorf("nothing is wrong with %s", text)
		}
	}
	for _, text := range []string{`x=abc; rm "${x:1:9223372036854775807}"`, `x=abc; rm "${x: -9223372036854775808:1}"`,
		`echo 'rm -rf /' | sed 's/rm/ls/g' | sh`, `echo 'rm -rf /' | tr m x | sh`, `X=/; env X=build sh -c 'rm -rf "$X"'`,
		`echo 'rm -rf /' > x; echo a > x; sh x`, `IFS=:; for p in $x; do rm -rf "build/$p" a/$p; done`,
		`rm -rf "$(cd a && pwd)"`, `rm -rf "$(cd "$X" && pwd)"`, `rm -rf "$(dirname "$0")/a"`, `rm -rf $(awk '{print "/a/" $1}' b)`, `rm -rf "$(jq -r '.["/"]' a)"`,
		`sed 's/a/rm -rf \//' b > c; cat c`, `echo 'ls $1' > a.sh; sh a.sh /`, `echo 'rm -rf $1' > a.sh; sh a.sh build /`, `rm -rf /mnt/c/Users/me/a`, `rm -rf /mnt/data`,
		`rm -rf "$(python3 -c 'import os; print("/home/" + os.name)')"`, `rm -rf "$(git rev-parse --show-toplevel)/build"`, `rm -rf "$(cat a)"`,
		`rm -rf $(dirname a b/c)`, `rm -rf build/{,,a}`} {
		if why := Catastrophe(text, at); why != "" {
			t.Errorf("%s is refused: %s", text, why)
		}
	}
}

// inside embeds a text where other texts are run from.
func inside(text string) map[string]string {
	all := map[string]string{"alone": text}
	if text == "" || strings.ContainsAny(text, "'\n#!") || strings.Contains(text, "EXIT") {
		return all
	}
	all["in sh -c"] = "sh -c '" + text + "'"
	all["in bash -lc"] = "bash -lc '" + text + "'"
	all["in eval"] = "eval '" + text + "'"
	all["in a list"] = "echo start; " + text
	all["in a substitution"] = "x=$(" + text + "\n)"
	all["by ssh"] = "ssh host '" + text + "'"
	return all
}

// A variable that the operator gives every command has its value, and those for the home folder are a home folder.
func TestCatastropheByGivenVariables(t *testing.T) {
	t.Parallel()
	at := Context{Dir: "/w/a", Root: "/w/a", Given: map[string]string{"BUILD": "/tmp/build", "EMPTY": "", "SYSTEM": "/usr",
		"ALL": "/", "HOME": "/tmp/home", "PWD": "/"}}
	for _, command := range []string{`rm -rf "$%s"/*`, `rm -rf ${%s}/*`, `sudo find "$%s/" -delete`, `cd sub; rm -rf $%s/*`,
		`bash -c 'rm -rf "$%s"/*'`, `f() { rm -rf "$%s"/*; }; f`} {
		for name, want := range map[string]bool{"BUILD": false, "EMPTY": true, "SYSTEM": true, "ALL": true, "HOME": true,
			"OTHER": true, "PWD": false} {
			text := strings.ReplaceAll(command, "%s", name)
			if why := Catastrophe(text, at); (why != "") != want {
				t.Errorf("%s: %q", text, why)
			}
			if why := Catastrophe(name+"=build; "+text, at); why != "" && name != "HOME" {
				t.Errorf("with another value %s: %q", text, why)
			}
		}
	}
}

// A variable that nothing sets is empty, and what is left of the path counts.
func TestCatastropheByUnsetVariables(t *testing.T) {
	t.Parallel()
	at := Context{Dir: "/w/a", Root: "/w/a", Env: []string{"GIVEN"}}
	for _, target := range []string{`"$X"/*`, `$X/`, `${X}/*`, `"${X}/"*`, `/$X`, `"/$X/"`, `$X/$Y`,
		`"$X/$Y"/*`, `$X/usr`,
		`~/$X`, `"$HOME/$X"`, `${X%/}/*`, `"${X##*/}"/*`, `/usr/"$X"`, `"${X//a/b}"/*`, `${X:0:3}/*`, `"${X,,}"/*`, `x "$X"/*`} {
		for _, remove := range []string{"rm -rf %s", "rm -fr -- %s", "sudo rm -rf %s", "find %s -delete",
			"timeout 5 rm -rf %s",
			"chmod -R 777 %s", "mv %s /tmp", "rsync -a --delete b/ %s", "cd build; rm -rf %s", "set -e; rm -rf %s", "rm -rf %s; echo $X",
			"cd %s && rm -rf *"} {
			if strings.HasPrefix(target, "x ") && strings.HasPrefix(remove, "cd %s") {
				continue
			}
			for how, text := range inside(strings.ReplaceAll(remove, "%s", target)) {
				why := Catastrophe(text, at)
				if (why == "" || !strings.Contains(why, ":?}")) && how != "in eval" {
					t.Errorf("%s: %s: %q", how, text, why)
				}
			}
		}
	}
	for _, text := range []string{`rm -rf "$X"/*; : "${X:?}"`, `cd a && rm -rf $X/*; [ -n "$X" ]`, `X=; rm -rf "$X"/*`, `X=""; rm -rf "$X"/*`, `export X=; rm -rf $X/`, `[ -n $X ] && rm -rf $X/*`,
		`[ -d "$X/a" ] && rm -rf "$X"/*`, `X=; rm -rf "${X-build}"/*`, `chmod -R -x /bin`, `sudo chmod -R -rwx /usr`, `chmod -x /`, `for i in 1 2; do cd / && rm -rf *; done`, `f() { cd /etc; rm -rf *; }; f`,
		`while read -r a; do (cd / && rm -rf ./*); done`, `echo 'rm -rf /' > a; mv a b; sh b`, `echo 'rm -rf /' > a; cp a b/; sh b/a`,
		`echo 'rm -rf /' > a; cat a > b; ./b`, `echo 'rm -rf /' > a; ln -s a b; bash b`} {
		if Catastrophe(text, at) == "" {
			t.Errorf("%s is not refused", text)
		}
	}
	for _, text := range []string{`f() { rm -rf "$X"/*; }; : "${X:?}"; f`, `: "${X:?}"; rm -rf "$X"/*`, `rm -rf "$X"`, `rm -rf "$X"/build`, `rm -rf "$X"*`, `rm -rf "${X:?}"/*`,
		`rm -rf "${X?}"/*`,
		`rm -rf "${X:-build}"/*`, `X=$(mktemp -d); rm -rf "$X"/*`, `read X; rm -rf "$X"/*`,
		`while read -r X; do rm -rf "$X"/*; done`,
		`for X in $(cat list); do rm -rf "$X"/; done`, `f() { local X=$1; rm -rf "$X"/*; }; f build`,
		`f() { rm -rf "$1"/*; }`,
		`. ./settings; rm -rf "$X"/*`, `source settings; rm -rf "$X"/*`, `export $(cat list); rm -rf "$X"/*`,
		`X=$(mktemp -d); bash -c "rm -rf \"$X\"/*"`, `X=$(mktemp -d); trap 'rm -rf "$X"/*' EXIT`,
		`mapfile -t X < list; rm -rf "${X[0]}"/*`,
		`rm -rf "$GIVEN"/*`, `set -eu; rm -rf "$X"/*`, `set -euo pipefail; rm -rf "$X"/*`,
		`rm -rf "$TMPDIR"/*`, `rm -rf "$PWD"/*`, `rm -rf /opt/"$X"`,
		`rm -rf ~/.cache/"$X"`, `ls "$X"/*`,
		`cp -r "$X"/* .`, `docker exec web sh -c 'rm -rf "$X"/*'`, `: "${X:=build}"; rm -rf "$X"/*`,
		`ls | xargs -I{} rm -rf "{}"/*`, `[ -n "$X" ] && rm -rf "$X"/*`, `if [ -d "${X}" ]; then rm -rf "$X"/*; fi`,
		`test -z "$X" || rm -rf "$X"/*`, `[[ -n $X ]] && rm -rf $X/*`, `X=; X=build; rm -rf "$X"/*`, `X=; rm -rf "${X:-build}"/*`, `X=""; rm -rf "${X:?}"/*`,
		`X=; rm -rf "${X:=build}"/*`, `f() { rm -rf "${1:-build}"/*; }; f ""`, `chmod -x a`, `chmod -R -w build`, `IFS= read -r X; rm -rf "$X"/*`,
		`X=; read X; rm -rf "$X"/*`, `X=; while read -r X; do rm -rf "$X"/*; done`, `X= make; rm -rf "$X"/*`, `X=; mapfile X < f; rm -rf "$X"/*`,
		`echo 'rm -rf "$X"/*'`, `git commit -m 'never rm -rf "$X"/*'`, `cd "$X" && rm -rf *`} {
		if why := Catastrophe(text, at); why != "" {
			t.Errorf("%s is refused: %s", text, why)
		}
	}
}

// Where a test has found that a variable has no value, it is empty, and where it has found one, it is not.
func TestCatastropheWhereTestsFindNoValue(t *testing.T) {
	t.Parallel()
	at := Context{Dir: "/w/a", Root: "/w/a", Env: []string{"X"}}
	const none, some = "EMPTY", "FILLED"
	for form, denied := range map[string]bool{
		none + " && rm -rf $X/*": true, none + " && [ -d a ] && sudo rm -rf \"$X\"/*": true, "if EMPTY; then rm -rf \"$X\"/*; fi": true,
		"if ls; then ls; elif EMPTY; then cd \"$X/\" && rm -rf *; fi": true, "FILLED || { ls; find \"$X\"/ -delete; }": true,
		"if FILLED; then ls; else rm -rf \"${X}\"/*; fi": true, "X=$(cat a); EMPTY && rm -rf \"$X\"/*": true,
		"read X; if EMPTY && [ -d a ]; then rm -rf \"$X\"/*; fi": true, "(FILLED || ls b) || rm -rf \"$X\"/*": false,
		"EMPTY || rm -rf \"$X\"/*": false, "FILLED && rm -rf \"$X\"/*": false, "if EMPTY; then exit; fi; rm -rf \"$X\"/*": false,
		"EMPTY && exit; rm -rf \"$X\"/*": false, "FILLED || exit; rm -rf \"$X\"/*": false, "EMPTY && X=a && rm -rf \"$X\"/*": false,
		"if EMPTY; then X=a; rm -rf \"$X\"/*; fi": false, "if EMPTY; then ls; else rm -rf \"$X\"/*; fi": false,
		"EMPTY && : ${X:=a} && rm -rf \"$X\"/*": false, "EMPTY && rm -rf \"${X:-a}\"/* \"${X:?}\"/*": false,
		"EMPTY && . ./a && rm -rf \"$X\"/*": false, "EMPTY || [ -d a ] && rm -rf \"$X\"/*": false, "EMPTY && rm -rf a/\"$X\"": false,
		"X=$(a); EMPTY && for x in $X; do rm -rf \"$x\"/*; done": false,
		"f() { X=$(a); }; EMPTY && { f; rm -rf \"$X\"/*; }":      false, "X=a; EMPTY && rm -rf \"$X\"/*": false, "if EMPTY || [ -z \"$Y\" ]; then rm -rf \"$X\"/*; fi": false,
	} {
		for _, empty := range []string{`[ -z "$X" ]`, `test -z "$X"`, `[[ -z $X ]]`, `[ "${X:-}" = "" ]`, `[[ $X == '' ]]`, `! [ -n "$X" ]`, `[ ! "$X" ]`} {
			for _, filled := range []string{`[ -n "${X}" ]`, `[ "$X" ]`, `test "$X" != ""`, `[[ ! -z $X ]]`, `! [ -z "$X" ]`} {
				text := strings.NewReplacer(none, empty, some, filled).Replace(form)
				if why := Catastrophe(text, at); (why != "") != denied {
					t.Errorf("%s: %q", text, why)
				}
			}
		}
	}
}

// Arguments that a function or script is not given are empty, unless the text looks at that, and no loop runs for none.
func TestCatastropheByMissingArguments(t *testing.T) {
	t.Parallel()
	for text, denied := range map[string]bool{
		`f() { rm -rf "$1"/*; }; f`: true, `f() { rm -rf $1/*; }; f`: true, `f() { local d="$1"; rm -rf "$d"/*; }; f`: true,
		`function f { cd "/$1" && rm -rf *; }; f`: true, `f() { rm -rf "$2"/*; }; f a`: true, `f() { shift; rm -rf "$1"/*; }; f a`: true,
		`g() { f "$@"; }; f() { rm -rf "$1"/*; }; g`: true, `f() { set -e; rm -rf "$1"; }; f /`: true, `set -- /; set -x; rm -rf "$1"`: true,
		"cat > a <<'E'\nD=$1\nrm -rf \"$D\"/*\nE\nbash a": true, `f() { for d in "$@"; do rm -rf "$d"; done; }; f a /`: true,
		`set -e -- /; rm -rf "$1"`: true, `set -o pipefail -- a /; rm -rf "$2"`: true, `f() { local d=$1; shift; rm -rf "$d"/*; }; f a`: false,
		`D=$1; f() { rm -rf "$D"/*; }; f`: false, `f() { local d=$1; g; }; g() { rm -rf "$d"/*; }; f a`: false, `f() { rm -rf "$2"/*; }; f [ab]`: false,
		"cat > a <<'E'\nD=$1\nf() { rm -rf \"$D\"/*; }\nf\nE\nbash a b": false, `f() { mkdir "$1" || return; rm -rf "$1"/*; }; f`: false,
		`f() { rm -rf "$1"/*; }; ./f`: false, `f() { rm -rf "$1"/*; }; xargs -n1 f < a`: false, `f() { rm -rf "$1"/*; }; npx f && sudo f`: false,
		`f() { rm -rf "$1"/*; }; (ls; f)`: true, `f() { rm -rf "$1"; }; sudo f /`: true,
		`f() { rm -rf "$1"/*; }`: false, `f() { rm -rf "$1"/*; }; f a`: false, `f() { rm -rf "$1"/*; }; f "$@"`: false,
		`f() { rm -rf "$1"/*; }; f $(cat a)`: false, `f() { rm -rf "$1"/*; }; for i in a b; do f $i; done`: false,
		`f() { rm -rf "${1:?}"/*; }; f`: false, `f() { : "${1?}"; rm -rf "$1"/*; }; f`: false, `f() { [ $# = 1 ] || return; rm -rf "$1"/*; }; f`: false,
		`f() { [ -z $1 ] && return; rm -rf "$1"/*; }; f`: false, `f() { case $1 in a) rm -rf "$2"/*;; esac; }; f`: false,
		`f() { local d=$1; [ -n "$d" ] || return; rm -rf "$d"/*; }; f`: false, `set -eu; f() { rm -rf "$1"/*; }; f`: false,
		`f() { while (($#)); do rm -rf "$1"/*; shift; done; }; f a`: false, `f() { rm -rf "$1/build" ~/a/"$1"; }; f`: false,
		`f() { for d in "$@"; do rm -rf "$d"/*; done; }; f`: false, `for d; do rm -rf "$d"/*; done`: false, `for d in $X; do rm -rf "$d"/*; done`: false,
		`a=(); for d in "${a[@]}"; do rm -rf "$d"/*; done`: false, `a=(); while read -r x; do a+=("$x"); done; for d in "${a[@]}"; do rm -rf "$d"/*; done`: false,
		`: "${X:?}"; rm -rf "$X"/*`: false, `[ -n "${X:?a}" ] && rm -rf "$X"/*`: false,
	} {
		if why := Catastrophe(text, Context{Dir: "/w/a", Root: "/w/a"}); (why != "") != denied {
			t.Errorf("%s: %q", text, why)
		}
	}
}

// This machine is not stopped, and others may be.
func TestCatastropheByStoppingTheMachine(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{"reboot", "/sbin/reboot -f", "shutdown now", "shutdown", "shutdown -r +5", "halt", "poweroff",
		"systemctl reboot", "systemctl -i poweroff", "systemctl isolate reboot.target", "init 0", "telinit 6", "loginctl reboot"} {
		for form, denied := range map[string]bool{"%s": true, "sudo %s": true, "(sleep 5; %s) &": true, "bash -c 'sleep 5 && %s'": true,
			"echo %s | sudo sh": true, "ls && %s": true, "f() { ls; sudo %s; }; f": true, "f() { %s; }; ls": false,
			"cat > a.sh <<'E'\nf() { sudo %s; }\nls\nE\nbash a.sh":            false,
			"cat > a.sh <<'E'\nif [ $1 = -r ]; then\nsudo %s\nfi\nE\nsh a.sh": false, "if [ -f a ]; then %s; fi": true,
			"cat > a.sh <<'E'\ncase $1 in b) bash -c '%s';; esac\nE\n./a.sh": false, "cat > a.sh <<'E'\nls && sudo %s\nE\nsh a.sh": true,
			"cat > a.sh <<'E'\nif true; then %s; fi\nE\nsh a.sh": true, "cat > a.sh <<'E'\nif [ 1 = 1 ]; then ls; else %s; fi\nE\nsh a.sh": true,
			"cat > a.sh <<'E'\nfalse || sudo %s\nE\nsh a.sh": true, "cat > a.sh <<'E'\n[ a = a ] && %s\nE\nsh a.sh": true,
			"cat > a.sh <<'E'\ncase a in *) %s;; esac\nE\nsh a.sh": true, "cat > a.sh <<'E'\nif ! ls; then ls; else %s; fi\nE\nsh a.sh": false,
			"cat > a.sh <<'E'\nif true; then [ -f b ] && %s; fi\nE\nsh a.sh": false, "cat > a.sh <<'E'\ntest $1 = a && if :; then %s; fi\nE\nsh a.sh": false,
			"cat > a.sh <<'E'\n[ -f b ] && %s\nE\nsh a.sh": false, "cat > a.sh <<'E'\n! ls\n%s\nE\nsh a.sh": true, "f() { %s; }; trap f EXIT": true, "f() { %s; }; g() { f; }; g": true, "cat > a.sh <<'E'\n%s\nE\nsh a.sh": true,
			"ssh host %s": false, "ssh host 'sudo %s'": false, "sshpass -p x ssh host %s": false, "vagrant ssh -c '%s'": false,
			"ssh host <<'E'\n%s\nE":        false,
			"echo '%s' | ssh host sudo sh": false, "cat > a.sh <<'E'\n%s\nE\nssh host 'bash -s' < a.sh": false,
			"cat > a.sh <<'E'\n%s\nE\nscp a.sh host: && ssh host bash a.sh": false, "S='ssh host'; $S %s": false, "S='sudo -n'; $S %s": true, "docker exec a %s": false, "docker compose exec a sh -c '%s'": false, "kubectl exec a -- %s": false,
			"echo '%s'": false, "man %s": false, "sudo %s --help": false, "git commit -m '%s'": false, "npm run %s": false, "make %s": false} {
			text := strings.ReplaceAll(form, "%s", stop)
			if why := Catastrophe(text, Context{Dir: "/w/a", Root: "/w/a"}); (why != "") != denied &&
				!strings.HasPrefix(form, "sudo %s -") {
				t.Errorf("%s: %q", text, why)
			}
		}
	}
	for _, text := range []string{"shutdown -c", "shutdown -k now", "reboot --help", "systemctl status reboot.target", "systemctl cat reboot.target",
		"systemctl -H host reboot", "systemctl --machine=a reboot", "systemctl --dry-run reboot", "systemctl status reboot", "systemctl mask poweroff",
		"systemctl help reboot", "/w/a/bin/shutdown now", "/opt/tomcat/bin/shutdown", "./reboot", "init --help", "git init 0", "tmux kill-session -t reboot", "xcrun simctl shutdown all",
		"shutdown() { kill $p; }; trap shutdown EXIT", "halt() { exit 1; }; ls || halt a", "systemctl restart nginx"} {
		if why := Catastrophe(text, Context{Dir: "/w/a", Root: "/w/a"}); why != "" {
			t.Errorf("%s: %q", text, why)
		}
	}
}

// Neither length nor invisible characters hide it.
func TestCatastropheBehindPadding(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxText)
	for name, text := range map[string]string{
		"a long comment":     "rm -rf / # " + long,
		"lines before":       strings.Repeat("echo "+strings.Repeat("y", 100)+"\n", 300) + "rm -rf /\n",
		"a zero-width blank": "rm -rf\u200b /",
		"a carriage return":  "rm -rf /\r",
		"no UTF-8":           "rm -rf / \xff",
		"open brackets":      strings.Repeat("((", 1000) + "; rm -rf /",
		"groups in groups":   strings.Repeat("{ ", 600) + "rm -rf /; " + strings.Repeat("}; ", 600),
	} {
		if Catastrophe(text, Context{Dir: "/w", Root: "/w"}) == "" {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
	bomb := "x=" + strings.Repeat("$x", 100) + "; rm " + strings.Repeat("$x", 7000)
	if Catastrophe(bomb, Context{}) != "" || Catastrophe("echo '"+long+" rm -rf /'", Context{}) != "" {
		t.Error("what only repeats variables, or prints, is refused")
	}
}

// The folder of a call counts.
func TestCatastropheInFolders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir, text string
		want      bool
	}{
		{"/", "rm -rf *", true}, {"/usr", "rm -rf .", true}, {"/usr", "rm -rf share/x", false}, {"/w", "rm -rf ..", true},
		{"/w/a/b", "rm -rf ..", false}, {"/w", "rm -rf ../*", true}, {"/root", "rm -rf *", true}, {"", "rm -rf ..", true},
		{"", "rm -rf x/..", false},
	} {
		if got := Catastrophe(c.text, Context{Dir: c.dir, Root: "/w"}) != ""; got != c.want {
			t.Errorf("%s in %q: %t", c.text, c.dir, got)
		}
	}
}

// The user's own home folder counts wherever it is, and what is in it does not.
func TestCatastropheInOwnHome(t *testing.T) {
	t.Setenv("HOME", "/data/people/me")
	for text, want := range map[string]bool{"rm -rf /data/people/me": true, "rm -rf ../people/me/*": true,
		"find /data/people/me/. -delete": true, "rm -rf /data/people/me/w": false, "rm -rf /data/people/me2": false} {
		if got := Catastrophe(text, Context{Dir: "/data/w", Root: "/data/w"}) != ""; got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// It always terminates, and ignores words that merely look alike.
func FuzzCatastrophe(f *testing.F) {
	for _, text := range append(append([]string{}, catastrophes...), harmless...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_ = Catastrophe(text, Context{Dir: "/w", Root: "/w"})
		if quoted := "echo '" + strings.ReplaceAll(text, "'", `'\''`) + "'"; Catastrophe(quoted, Context{}) != "" {
			t.Errorf("a text that is only printed is refused: %q", quoted)
		}
	})
}

func BenchmarkCatastrophe(b *testing.B) {
	for name, text := range map[string]string{"everyday": "go test ./... 2>&1 | tail -n 20",
		"suspicious": "cd build && rm -rf ./out && find . -name '*.o' -delete"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Catastrophe(text, Context{Dir: "/w", Root: "/w"})
			}
		})
	}
}
