package shellcmd

import (
	"slices"
	"strings"
	"sync"
)

// sameOptions are options with several spellings, by program, or by program and sub-command: -r, -R and --recursive of
// rm. Those that are not listed have one.
var sameOptions = map[string]string{
	"rm":    "r,R,recursive f,force d,dir v,verbose",
	"rmdir": "p,parents v,verbose",
	"cp": "r,R,recursive f,force a,archive l,link s,symbolic-link n,no-clobber u,update i,interactive b,backup " +
		"P,no-dereference L,dereference t,target-directory T,no-target-directory v,verbose",
	"mv": "f,force n,no-clobber u,update i,interactive b,backup t,target-directory T,no-target-directory v,verbose",
	"ln": "s,symbolic f,force i,interactive b,backup n,no-dereference r,relative P,physical L,logical " +
		"t,target-directory T,no-target-directory v,verbose",
	"install": "d,directory m,mode o,owner g,group t,target-directory T,no-target-directory b,backup s,strip " +
		"v,verbose",
	"mkdir":       "p,parents m,mode v,verbose",
	"chmod":       "R,recursive c,changes f,silent,quiet v,verbose",
	"chown|chgrp": "R,recursive c,changes f,silent,quiet h,no-dereference v,verbose",
	"setfacl":     "R,recursive m,modify x,remove b,remove-all k,remove-default",
	"touch":       "c,no-create d,date r,reference h,no-dereference",
	"truncate":    "s,size r,reference c,no-create o,io-blocks",
	"tee":         "a,append i,ignore-interrupts",
	"shred":       "f,force n,iterations s,size u,remove x,exact z,zero v,verbose",
	"tar": "x,extract,get c,create t,list r,append u,update A,catenate,concatenate d,diff,compare f,file C,directory " +
		"P,absolute-names p,preserve-permissions,same-permissions O,to-stdout k,keep-old-files U,unlink-first " +
		"h,dereference I,use-compress-program F,info-script,new-volume-script T,files-from X,exclude-from " +
		"z,gzip,gunzip,ungzip j,bzip2 J,xz v,verbose",
	"bsdtar": "x,extract c,create r,append u,update t,list f,file C,directory,cd P,absolute-paths",
	"cpio":   "i,extract o,create p,pass-through t,list D,directory",
	"gzip":   "d,decompress,uncompress f,force k,keep c,stdout,to-stdout r,recursive",
	"ls":     "a,all A,almost-all R,recursive d,directory r,reverse", "node": "e,eval p,print c,check r,require",
	"sed":   "i,in-place e,expression f,file n,quiet,silent E,r,regexp-extended s,separate z,null-data",
	"grep":  "r,recursive R,dereference-recursive f,file e,regexp",
	"rsync": "a,archive r,recursive e,rsh n,dry-run u,update b,backup R,relative l,links L,copy-links T,temp-dir",
	"kill":  "s,signal", "date": "s,set", "xargs": "a,arg-file I,replace n,max-args P,max-procs",
	"sudo": "u,user g,group i,login s,shell E,preserve-env b,background H,set-home A,askpass S,stdin k,reset-timestamp " +
		"K,remove-timestamp e,edit",
	"make":      "f,file,makefile C,directory B,always-make e,environment-overrides i,ignore-errors j,jobs k,keep-going",
	"systemctl": "H,host M,machine f,force s,signal q,quiet",
	"apt":       "y,yes,assume-yes", "apt-get": "y,yes,assume-yes f,fix-broken d,download-only",
	"curl": "o,output O,remote-name J,remote-header-name d,data X,request F,form T,upload-file k,insecure u,user " +
		"H,header L,location K,config x,proxy b,cookie c,cookie-jar A,user-agent e,referer E,cert G,get I,head s,silent " +
		"f,fail",
	"wget": "O,output-document o,output-file a,append-output P,directory-prefix i,input-file b,background r,recursive " +
		"c,continue e,execute m,mirror N,timestamping q,quiet",
	"npm|pnpm|yarn": "g,global f,force D,save-dev S,save O,save-optional E,save-exact w,workspace y,yes C,prefix,dir",
	"pip|pip3":      "U,upgrade r,requirement e,editable t,target c,constraint i,index-url f,find-links y,yes",
	"docker run|create|exec": "d,detach i,interactive t,tty v,volume p,publish P,publish-all e,env u,user w,workdir " +
		"h,hostname m,memory l,label",
	"docker rm": "f,force v,volumes l,link", "docker rmi": "f,force", "docker prune": "a,all f,force",
	"docker build": "f,file t,tag q,quiet o,output", "docker push": "a,all-tags q,quiet",
	"docker compose": "f,file p,project-name", "docker up": "d,detach V,renew-anon-volumes",
	"docker down": "v,volumes t,timeout",
	"docker stop": "t,time,timeout s,signal", "docker kill": "s,signal",
	"kubectl":   "n,namespace f,filename A,all-namespaces l,selector k,kustomize R,recursive o,output s,server",
	"helm":      "n,namespace f,values i,install",
	"git push":  "n,dry-run u,set-upstream o,push-option 4,ipv4 6,ipv6",
	"git clean": "f,force i,interactive n,dry-run e,exclude q,quiet",
	"git reset": "p,patch q,quiet N,intent-to-add",
	"git rm|mv": "f,force n,dry-run q,quiet",
	"git add":   "A,all,no-ignore-removal f,force u,update i,interactive p,patch e,edit n,dry-run N,intent-to-add",
	"git commit": "a,all n,no-verify m,message F,file C,reuse-message c,reedit-message S,gpg-sign s,signoff e,edit " +
		"p,patch",
	"git branch":   "d,delete m,move c,copy f,force a,all r,remotes u,set-upstream-to t,track",
	"git checkout": "f,force t,track m,merge p,patch d,detach q,quiet",
	"git switch":   "c,create C,force-create f,force,discard-changes d,detach m,merge t,track",
	"git restore":  "s,source S,staged W,worktree p,patch m,merge",
	"git merge":    "m,message F,file s,strategy X,strategy-option S,gpg-sign",
	"git rebase": "i,interactive f,force-rebase,no-ff x,exec r,rebase-merges s,strategy X,strategy-option S,gpg-sign " +
		"m,merge",
	"git cherry-pick|revert": "e,edit n,no-commit m,mainline s,signoff S,gpg-sign X,strategy-option",
	"git fetch":              "f,force p,prune P,prune-tags t,tags a,append u,update-head-ok k,keep n,no-tags j,jobs",
	"git pull": "f,force p,prune r,rebase t,tags a,append n,no-stat s,strategy X,strategy-option " +
		"S,gpg-sign",
	"git clone":                "u,upload-pack c,config b,branch o,origin l,local s,shared n,no-checkout j,jobs",
	"git tag":                  "d,delete f,force a,annotate s,sign u,local-user m,message F,file v,verify l,list",
	"git stash":                "u,include-untracked a,all p,patch k,keep-index m,message",
	"hg update|up|checkout|co": "C,clean", "hg push": "f,force",
	"git checkout-index": "f,force a,all", "git symbolic-ref": "d,delete q,quiet", "git replace": "d,delete f,force",
	"docker-compose down": "v,volumes t,timeout", "hg bookmark|bookmarks": "d,delete",
	"git worktree": "f,force n,dry-run d,detach", "git submodule": "f,force",
	"git config": "e,edit l,list f,file", "git grep": "O,open-files-in-pager",
}

// spellings are the options with several spellings of the command that a rule is about.
func spellings(prefix []string) (out [][]string) {
	name := strings.Replace(baseName(prefix[0]), "podman", "docker", 1)
	out = slices.Clip(sameLists()[name])
	for _, word := range prefix[1:] {
		out = append(out, sameLists()[name+" "+word]...)
	}
	return out
}

// sameLists are sameOptions, taken apart.
var sameLists = sync.OnceValue(func() map[string][][]string {
	m := map[string][][]string{}
	for commands, lists := range sameOptions {
		for _, words := range spelledOut(strings.Fields(commands)) {
			for list := range strings.FieldsSeq(lists) {
				command := strings.Join(words, " ")
				m[command] = append(m[command], strings.Split(list, ","))
			}
		}
	}
	return m
})

// sameCommands are words with the same meaning behind a program: with | between them, and a comma between the groups.
var sameCommands = [][2]string{
	{"npm", `install|i|add|in|ins|inst|insta|instal|isnt|isnta|isntal|isntall, uninstall|remove|rm|r|un|unlink,
		run|run-script|rum|urn, test|t|tst, exec|x, update|up|upgrade|udpate, config|c, init|create|innit, link|ln,
		ci|clean-install|ic|install-clean|isntall-clean, install-test|it, list|ls|la|ll, view|info|show|v, owner|author,
		dist-tag|dist-tags, rebuild|rb, dedupe|ddp`},
	{"pnpm", `install|i, remove|rm|uninstall|un, update|up|upgrade, run|run-script, test|t, list|ls, link|ln, config|c`},
	{"bun", `install|i, add|a, remove|rm|r`},
	{"docker podman nerdctl", `run|container run, exec|container exec, create|container create, kill|container kill,
		rm|container rm|container remove, start|container start, stop|container stop, cp|container cp, rmi|image rm|image
		remove, pull|image pull, push|image push, build|image build|buildx build, load|image load, save|image save, tag|image
		tag, import|image import, export|container export, commit|container commit, attach|container attach, volume rm|volume
		remove, network rm|network remove`},
	{"git", `add|stage, branch -D|branch -d -f, branch -M|branch -m -f, branch -C|branch -c -f, remote remove|remote rm`},
	{"brew", `uninstall|remove|rm, list|ls, link|ln`}, {"helm", `uninstall|delete|del|un, dependency|dep|dependencies`},
	{"cargo", `build|b, check|c, test|t, run|r, doc|d, remove|rm`}, {"terraform tofu", `destroy|apply -destroy`},
	{"svn", `delete|del|remove|rm, commit|ci, checkout|co, update|up`}, {"hg", `commit|ci, update|up|checkout|co`},
	{"gh", `extension|ext|extensions, codespace|cs`}, {"dnf", `remove|erase|rm, install|in`},
	{"zypper", `remove|rm, install|in, update|up`}, {"winget", `uninstall|remove|rm, install|add`},
	{"conda mamba micromamba", `remove|uninstall`}, {"flatpak", `uninstall|remove`}, {"jj", `bookmark|b, operation|op`},
	{"pacman", `-R|--remove, -S|--sync, -U|--upgrade`}, {"dpkg", `-r|--remove, -P|--purge, -i|--install`},
	{"rpm", `-e|--erase, -i|--install, -U|--upgrade`},
}

// sameByProgram are the groups of a program, of which each member is a list of words.
var sameByProgram = sync.OnceValue(func() map[string][][][]string {
	m := map[string][][][]string{}
	for _, pair := range sameCommands {
		for program := range strings.FieldsSeq(pair[0]) {
			for group := range strings.SplitSeq(pair[1], ",") {
				var forms [][]string
				for form := range strings.SplitSeq(group, "|") {
					forms = append(forms, strings.Fields(form))
				}
				m[program] = append(m[program], forms)
			}
		}
	}
	return m
})

// alike is a rule with other words for its sub-command.
func alike(prefix []string) (out [][]string) {
	if len(prefix) == 0 {
		return nil
	}
	with := func(program string, words ...[]string) {
		out = append(out, append([]string{program}, slices.Concat(words...)...))
	}
	program, rest := usualName(baseName(prefix[0])), prefix[1:]
	if before, compose := strings.CutSuffix(program, "-compose"); compose {
		with(before, []string{"compose"}, rest)
	} else if len(rest) > 0 && rest[0] == "compose" {
		with(program+"-compose", rest[1:])
	}
	for _, group := range sameByProgram()[program] {
		for _, form := range group {
			if len(rest) < len(form) || !slices.Equal(rest[:len(form)], form) {
				continue
			}
			for _, other := range group {
				if !slices.Equal(other, form) {
					with(prefix[0], other, rest[len(form):])
				}
			}
		}
	}
	return out
}

// usualName is the name by which the tables know a program that has others.
func usualName(name string) string {
	switch base := strings.TrimRight(name, ".0123456789"); {
	case base == "python", base == "pip", base == "perl", base == "ruby", base == "php", base == "lua", base == "pypy",
		base == "dnf", base == "node":
		return base
	case name == "apt-get", name == "aptitude":
		return "apt"
	case name == "yum", name == "microdnf":
		return "dnf"
	case name == "gmake":
		return "make"
	case name == "nodejs":
		return "node"
	}
	return name
}

// dashed are the arguments, with a dash before the letters that tar accepts without one.
func (c *Command) dashed() []Word {
	if c.Name != "tar" && c.Name != "bsdtar" || len(c.Args) == 0 || !c.Args[0].Static || c.Args[0].Text == "" ||
		c.Args[0].Text[0] == '-' {
		return c.Args
	}
	return append([]Word{static("-" + c.Args[0].Text)}, c.Args[1:]...)
}

// hasOption finds an option in all arguments, in any spelling.
func hasOption(args []Word, token string, same [][]string) bool {
	if spelled(args, token) {
		return true
	}
	names := []string{strings.TrimPrefix(token, "--")}
	switch {
	case token == "--", names[0] == token && len(token) > 4:
		return false
	case names[0] == token: // a bundle of letters
		names = strings.Split(token[1:], "")
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		return !spelled(args, dashes(name)) && !slices.ContainsFunc(same, func(list []string) bool {
			return slices.Contains(list, name) &&
				slices.ContainsFunc(list, func(other string) bool { return spelled(args, dashes(other)) })
		})
	})
}

// dashes puts one dash before a letter, and two before a name.
func dashes(name string) string { return strings.Repeat("-", min(2, len(name))) + name }

// spelled finds an option as it is, long ones also abbreviated.
func spelled(args []Word, token string) bool {
	if !strings.HasPrefix(token, "--") {
		return hasLetters(args, token)
	}
	return slices.ContainsFunc(args, func(a Word) bool {
		_, has := optionValue(a.Text, token)
		return has || a.Text == token
	})
}

// hasLetters finds short options: as one word, bundled, or apart.
func hasLetters(args []Word, token string) bool {
	var given strings.Builder
	for _, a := range args {
		if a.Text == token || strings.HasPrefix(a.Text, token+"=") {
			return true
		}
		if len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' {
			given.WriteString(a.Text[1:])
		}
	}
	return len(token) <= 4 && strings.Trim(token[1:], given.String()) == "" // longer ones are long options with one dash
}
