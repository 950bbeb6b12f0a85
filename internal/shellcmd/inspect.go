package shellcmd

import (
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

const (
	// kubectlFormat has no format from a file.
	kubectlFormat = "(wide|name|json|yaml|(jsonpath|jsonpath-as-json|go-template|custom-columns|template)=.*) "
	kubectlCommon = " n= namespace= context= no-headers l= selector= o=" + kubectlFormat + "output=" + kubectlFormat
	ghRepo        = `([\w.-]+/[\w.-]+)` // of the usual host
	ghCommon      = " json= q= jq= R=" + ghRepo + " repo=" + ghRepo + " L= limit= "
)

// inspectRows are read-only uses of programs that manage containers, clusters, services, packages and accounts. Like
// useRows they count for reading alone. None of them lets the workspace name a program or a server. Uses that show
// secrets, such as docker inspect without a format and kubectl get secret, are left out.
var inspectRows = []row{
	{"docker|podman ps|container ls|container list|container ps", "a f= l n= q s all filter= format= last= latest " +
		"no-trunc quiet size", noWords},
	{"docker|podman images|image ls|image list", "a f= q all digests filter= format= no-trunc quiet", spec{}},
	{"docker|podman logs|container logs", "f n= t follow details since= tail= timestamps until=", spec{}},
	{"docker|podman top|container top", "", oneWord}, // what follows is for ps, as e is
	{"docker|podman port|diff|history|image history|container port|container diff|version|info", "f= q format= no-trunc " +
		"quiet", spec{}},
	{"docker|podman network ls|network list|volume ls|volume list|context ls|system df|image df|plugin ls|buildx ls",
		"f= q v filter= format= no-trunc quiet verbose", noWords},
	{"docker|podman network inspect|volume inspect", "f= format=", spec{}},
	{"docker|podman inspect|container inspect|image inspect", "f= format= s size type=", spec{check: checkInspect}},
	{"docker|podman stats|container stats", "a all format= no-stream no-trunc", spec{check: needs("it does not end",
		"no-stream")}},
	{"kubectl get", kubectlCommon + "A L= w all-namespaces sort-by= show-labels watch? field-selector= chunk-size= " +
		"ignore-not-found show-kind label-columns=", spec{check: checkKubectl}},
	{"kubectl describe", kubectlCommon + "A all-namespaces show-events?", spec{check: checkKubectl}},
	{"kubectl events", kubectlCommon + "A all-namespaces for= types= w watch", plainNames},
	{"kubectl logs", kubectlCommon + "f p c= tail= since= since-time= timestamps previous container= all-containers? " +
		"prefix follow limit-bytes=", plainNames},
	{"kubectl top", kubectlCommon + "A all-namespaces containers sort-by=", plainNames},
	{"kubectl version", "client output= o= short", noWords},
	{"kubectl config current-context|config get-contexts|config get-clusters|config get-users", "o= no-headers output=",
		noWords},
	{"kubectl api-resources|api-versions|cluster-info", "o= output= namespaced? api-group= verbs= no-headers context=",
		noWords},
	{"kubectl explain", "recursive api-version= output= context=", plainNames},
	{"kubectl rollout status|rollout history|auth can-i|auth whoami", kubectlCommon + "timeout= w revision= watch? q " +
		"quiet A all-namespaces list", spec{check: checkKubectl}},
	{"helm list|ls", "A n= a q o= l= all-namespaces namespace= all short output= selector= max= filter= deployed failed " +
		"pending date reverse", noWords},
	{"helm history|status", "n= namespace= o= output= max= revision=", plainNames},
	{"helm version", "short", noWords},
	{"helm repo list", "o= output=", noWords},
	{"helm search repo", "l versions version= o= output=", plainNames},
	{"terraform|tofu version", "json", spec{max: -1, oneDash: true}},
	{"terraform|tofu fmt", "check diff recursive", spec{operands: paths, oneDash: true, check: checkFormat}},
	{"systemctl", "failed all a no-pager no-legend plain", noWords},
	{"systemctl status|is-active|is-enabled|is-failed|list-units|list-unit-files|list-timers|list-sockets|" +
		"list-dependencies|list-jobs|list-paths|list-automounts|get-default|is-system-running", "a l n= o= t= q all type= " +
		"state= no-pager lines= full user system failed plain no-legend output= quiet reverse", plainWords},
	{"journalctl", "u= n= b? k f e x a q r p= o= t= S= U= g= unit= user-unit= lines= boot? dmesg since= until= " +
		"priority= output= no-pager reverse identifier= user system grep= list-boots disk-usage utc quiet all follow full " +
		"no-full catalog no-hostname", spec{count: true, check: plainOperands}},
	{"dmesg", "T H x k u l= e t r human ctime level= facility= since= until= nopager color? reltime notime raw kernel",
		noWords},
	{"timedatectl|hostnamectl|localectl", "no-pager", noWords},
	{"top", "b n= d= u= U= p= o= l= s= c H i S E= e= w? 1", spec{max: -1, check: checkTop}},
	{"pgrep", "a f l n o u= U= x c i P= g= t= d= v full list-full list-name newest oldest exact count", oneWord},
	{"pidof", "s x", spec{}},
	{"kill", "0 l L", spec{digits: true, check: checks(needs("it ends processes", "0", "l", "L"), checkJobs)}},
	{"tput cols|lines|colors", "", noWords},
	{"pstree", "a c g h l n p s t T u", oneWord},
	{"w", "h s f i o u", oneWord},
	{"who", "a b d H l m p q r s t T u all boot heading count", noWords},
	{"last", "n= a d F i R w x", spec{count: true}},
	{"vmstat|iostat|mpstat", "a d D f m s S= t w x h k c y z", spec{max: 2, check: checkRounds}},
	{"lscpu", "a b c e? p? x J all bytes json extended? parse? hex", noWords},
	{"lsblk", "a b d f i J l m n o= O p P r t x= all bytes fs json list output= paths noheadings nodeps sort= output-all",
		spec{}},
	{"lsmem|lspci|lsusb", "v k n t m", noWords},
	{"lsmod|arch|vm_stat", "", noWords},
	{"sw_vers|xcode-select", "productName productVersion buildVersion p print-path version", spec{max: -1, oneDash: true}},
	{"route|arp", "a e n v", noWords},
	{"pwdx", "", spec{check: checkNumbers}},
	{"fuser", "a m n= u v 4 6 all mount user verbose namespace=", // it may read options behind --
		spec{operands: mixed, check: operandsAre(func(o Word) bool { return !strings.HasPrefix(o.Text, "-") }, " may kill")}},
	{"sysctl", "a n N all names values", spec{check: checkSysctl}},
	{"nvidia-smi", "L q i= d= list-gpus query id= query-gpu= query-compute-apps= format=", noWords},
	{"lsb_release", "a c d i r s all short", noWords},
	{"findmnt", "a l D J o= t= n all list df json output= types= noheadings", spec{}},
	{"mount", "l", noWords},
	{"ip", "4 6 0 br brief c color? d details s stats statistics j json p pretty o oneline h human", spec{oneDash: true,
		check: checkIP}},
	{"ifconfig", "a s v", oneWord},
	{"getconf", "a", spec{max: 2}},
	{"getent passwd|group|services|protocols", "", spec{}},
	{"ulimit", "a c d f H l m n p q r s S t u v x", noWords},
	{"cal|ncal", "1 3 j y h w b", spec{digits: true, check: checkNumbers}},
	{"dpkg", "l L s S p list listfiles status search get-selections print-architecture", spec{check: needs(
		"it shows no package", "l", "L", "s", "S", "p", "list", "listfiles", "status", "search", "get-selections",
		"print-architecture")}},
	{"dpkg-query", "l L s S p W f= list listfiles status search show showformat=", spec{}},
	{"apt list|show|policy|search|depends|rdepends", "installed upgradable a all-versions names-only", plainWords},
	{"apt-cache policy|show|search|depends|rdepends|madison|showpkg|stats", "n names-only installed", plainWords},
	{"rpm -q|-qa|-qi|-ql|-qf|-qR|-qc|-qd|-qs", "", plainWords},
	{"pacman -Q|-Qi|-Ql|-Qo|-Qs|-Qe|-Qeq|-Qm|-Qdt|-Qdtq|-Qu|-Si|-Ss", "", plainWords},
	{"apk info|list|search|policy", "a d e I L q v", plainWords},
	{"snap|flatpak list", "all app runtime columns=", noWords},
	{"brew list|ls|leaves", "1 versions cask formula", plainWords},
	{"gem list", "l i local", plainWords},
	{"conda list|info|env list", "e n= envs json export name=", plainWords},
	{"pyenv version|versions", "bare", noWords},
	{"npm run|run-script", "", noWords}, // without a name it lists them
	{"npm pkg get", "json", spec{}},
	{"npm config get", "g location=", spec{max: 1, check: checks(some("it shows all settings"), npmSetting)}},
	{"gh pr list|pr ls|issue list|issue ls|release list|release ls|workflow list|workflow ls|label list|label ls|" +
		"repo list|repo ls|cache list|cache ls|ruleset list", ghCommon + "s= l= a= A= B= H= S= state= label= assignee= " +
		"author= base= head= search= draft all", spec{max: -1, check: checkGH}},
	{"gh run list|run ls", ghCommon + "s= a w= b= e= u= workflow= branch= event= user= status= all",
		spec{max: -1, check: checkGH}}, // of other lists -w opens a browser
	{"gh pr view|pr checks|pr diff|pr status|issue view|issue status|run view|release view|workflow view", ghCommon +
		"c j= v comments required name-only color= log log-failed job= verbose exit-status yaml",
		spec{max: 1, check: checkGH}},
	{"gh search repos|search issues|search prs|search commits|search code", ghCommon + "author= assignee= state= owner= " +
		"language= label= sort= order= topic= extension= filename= match= created= updated= merged draft",
		spec{check: checkGH}},
	{"gh repo view", "json= q= jq= b= branch=", spec{max: 1, check: checkGH}},
	{"gh auth status", "h= hostname= a active", noWords},
	{"aws", "region= profile= output= query= no-cli-pager no-paginate max-items= page-size= filters= instance-ids= " +
		"cluster= cluster-name= name= names= services= stack-name= repository-name= db-instance-identifier= vpc-ids= " +
		"group-ids= image-ids= owners= role-name= user-name= table-name= log-group-name-prefix= recursive human-readable " +
		"summarize", spec{check: checkAWS}},
	{"readelf", "a h l S s r d V W n e A file-header program-headers section-headers sections segments syms symbols " +
		"dynamic relocs notes version-info wide all headers dyn-syms x= p=", binaries},
	{"objdump", "d D f h p r R s t T x C w j= M= disassemble disassemble-all file-headers section-headers headers " +
		"private-headers syms dynamic-syms demangle section= no-show-raw-insn start-address= stop-address=", binaries},
	{"size", "A B d o x t format= totals", binaries},
	{"zgrep|zegrep|zfgrep|bzgrep|xzgrep", "c i n v E F h H l L o q w x A= B= C= m= e=", spec{operands: firstText}},
	{"openssl x509", "noout text subject issuer dates startdate enddate serial fingerprint pubkey modulus purpose sha1 " +
		"sha256 sha384 sha512 in= inform= ext= email ocsp_uri hash subject_hash issuer_hash alias nameopt= certopt= " +
		"checkend= checkhost= checkip=", spec{max: -1, oneDash: true, check: checkCertificate}},
	{"openssl req|crl", "noout text subject issuer verify in= inform= pubkey modulus lastupdate nextupdate", spec{max: -1,
		oneDash: true, check: checks(needs("it asks for a new one", "in"), checkCertificate)}},
	{"openssl version", "a v d p o b f", spec{max: -1, oneDash: true}},
	{"openssl dgst|sha256|sha1|sha384|sha512|md5", "sha1 sha256 sha384 sha512 md5 r c hex",
		spec{operands: paths, oneDash: true}},
	{"openssl rand", "hex base64", spec{oneDash: true, max: 1, check: checkNumbers}},
	{"node", "p= print= c/ check/", spec{max: -1, check: accepts(func(c *Command) bool {
		return literalProgram(c) || checksSyntax(c)
	}, "it runs a program that is given as text")}},
	{"bash|sh|dash", "n/", spec{max: -1, check: accepts(checksSyntax, "it may run the file")}},
	{"php -m", "", noWords},
	{"php", "l/", spec{max: -1, check: accepts(checksSyntax, "it may run the file")}},
	{"ruby", "c/", spec{max: -1, check: accepts(checksSyntax, "it may run the file")}},
	{"shellcheck", "s= e= i= f= S= o= C? W= shell= exclude= include= format= severity= enable= color? wiki-link-count=",
		anyFiles},
	{"bat|batcat", "p P n A l= r= plain number show-all language= line-range= style= color= decorations= paging=(never) " +
		"wrap= tabs= terminal-width= theme=", files},
	{"shasum", "a= b t U 0 algorithm= binary text UNIVERSAL", files},
	{"md5", "q r", files},
	{"ar t|tv", "", binaries},
	{"jar tf|tvf|-tf|-tvf", "", binaries},
	{"exa|eza", "a d F h l 1 r R T L= s= all long tree level= sort= reverse header git icons? oneline", files},
}

// yqOptions are those of both programs of that name. With -s one splits into files.
const yqOptions = "r c e C M P N n y Y j o= p= I= raw-output compact-output exit-status null-input no-colors " +
	"prettyPrint no-doc unwrapScalar? output-format= input-format= indent= colors yaml-output"

// globalOptions may be before a sub-command, and mean the same behind it. With = those with a value.
var globalOptions = table{
	{"-n= --namespace= --context= --kubeconfig=", "kubectl"}, {"-n= --namespace= --kubeconfig=", "helm"},
	{"-chdir=", "terraform tofu"}, {"--user --system --no-pager -q --quiet", "systemctl"},
	{"--region= --profile= --output= --query= --no-cli-pager", "aws"},
}

// subFirst is the command with such options behind its sub-command.
func (c *Command) subFirst() *Command {
	known, moved := globalOptions.of(c.Name), 0
	for moved < len(c.Args) && c.Args[moved].Static && strings.HasPrefix(c.Args[moved].Text, "-") {
		name, _, attached := strings.Cut(c.Args[moved].Text, "=")
		switch {
		case known.Has(name+"=") && attached, known.Has(c.Args[moved].Text):
			moved++
		case known.Has(name+"=") && moved+1 < len(c.Args):
			moved += 2
		default:
			return c
		}
	}
	sub := moved
	for sub < len(c.Args) && sub < moved+2 && c.Args[sub].Static && !strings.HasPrefix(c.Args[sub].Text, "-") {
		sub++
	}
	if moved == 0 {
		return c
	}
	out := *c
	out.Args = slices.Concat(c.Args[moved:sub], c.Args[:moved], c.Args[sub:])
	return &out
}

// needs is a check for one of some options.
func needs(why string, options ...string) func(*invocation) string {
	return func(u *invocation) string {
		return when(!u.has(options...), why)
	}
}

// checkTop requires that it does not wait for keys, and no field with the variables of processes.
func checkTop(u *invocation) string {
	if strings.Contains(strings.ToUpper(strings.Join(u.plainWords(), " ")), "ENV") {
		return "top may show the variables of processes"
	}
	return needs("it waits for keys", "b", "l")(u)
}

var systemSetting = lazy.Regexp(`^[a-z][a-z0-9_.-]*$`)

// plainName requires operands and values that name something by letters.
func plainName(u *invocation) string {
	for _, x := range u.plainWords() {
		if strings.Contains(x, "://") || strings.Contains(x, "..") || strings.HasPrefix(x, "@") || strings.HasPrefix(x, "/") {
			return shorten(x) + " is more than a name"
		}
	}
	return ""
}

// plainWords are the operands, and the values of options.
func (u *invocation) plainWords() (out []string) {
	for _, o := range u.operands {
		out = append(out, o.Text)
	}
	for _, g := range u.given {
		out = append(out, g.value.Text)
	}
	return out
}

var (
	// shownFields are what a format of docker inspect may show: not the environment, and nothing that holds it.
	shownFields = lazy.Regexp(`^((json|len|println) )?\(?(\.(State|NetworkSettings|HostConfig|Mounts|Name|Id|ID|Created|Image|` +
		`RestartCount|Driver|Platform|Size|SizeRw|SizeRootFs|Architecture|Os|RepoTags|RepoDigests|RootFS|LogPath)(\.\w+)*|` +
		`\.Config\.(Image|Labels|ExposedPorts|Hostname|User|WorkingDir|Volumes|Healthcheck)(\.\w+)*)\)?$`)
	rangeOf     = lazy.Regexp(`^range (\$\w+, ?\$\w+ ?:= ?)?\.(NetworkSettings\.(Networks|Ports)|Mounts|RepoTags|RepoDigests|HostConfig\.\w+)$`)
	insideRange = lazy.Regexp(`^(json )?(\.[A-Z]\w*(\.\w+)*|\.|\$\w+(\.\w+)*)$`)
	actions     = lazy.Regexp(`\{\{-?\s*(.*?)\s*-?\}\}`)
)

// checkInspect requires a format that shows a few fields: all of an object has the container's environment.
func checkInspect(u *invocation) string {
	const why = "it may show the environment of a container"
	if !u.has("f", "format") {
		return why
	}
	for _, g := range u.given {
		if g.name != "f" && g.name != "format" {
			continue
		}
		text, inRange := g.value.Text, false
		for _, m := range actions().FindAllStringSubmatch(text, -1) {
			switch action := m[1]; {
			case rangeOf().MatchString(action):
				inRange = true
			case action == "end":
				inRange = false
			case inRange && insideRange().MatchString(action), shownFields().MatchString(action):
			default:
				return why
			}
		}
		if rest := actions().ReplaceAllString(text, ""); strings.Contains(rest, "{{") || text == "json" {
			return why
		}
	}
	return ""
}

// checkKubectl refuses secrets, in any spelling of the type.
func checkKubectl(u *invocation) string {
	if args := u.command.Args; len(u.operands) == 0 && (len(args) == 0 || args[0].Text != "auth") {
		return "it names nothing to show"
	}
	for _, x := range u.plainWords() {
		if lower := strings.ToLower(x); strings.Contains(lower, "secret") || strings.Contains(lower, "token") {
			return shorten(x) + " may hold secrets"
		}
	}
	return plainName(u)
}

// checkFormat requires -check, and not -check=false.
func checkFormat(u *invocation) string {
	for _, a := range u.command.Args[1:] {
		if strings.Contains(a.Text, "=") {
			return unknownOption(a.Text, u.command.Name)
		}
	}
	return needs("it writes", "check")(u)
}

// checkRounds requires an end: how often, too, where the time between is given.
func checkRounds(u *invocation) string {
	if len(u.operands) == 1 {
		return "it does not end"
	}
	return checkNumbers(u)
}

var (
	ipObjects lazy.Words = `a addr address l link r route ru rule n neigh neighbor neighbour maddress`
	ipShows   lazy.Words = `show list ls get`
)

// checkIP accepts showing. Verbs may be cut short, and f is flush.
func checkIP(u *invocation) string {
	return when(len(u.operands) == 0 || !ipObjects.Has(u.operands[0].Text) ||
		len(u.operands) > 1 && !ipShows.Has(u.operands[1].Text), "ip may change something")
}

const npmSettings lazy.Words = "registry prefix cache globalconfig userconfig node-version engine-strict save-exact init-license"

var npmSetting = operandsAre(func(o Word) bool { return npmSettings.Has(o.Text) }, " may hold a secret")

var (
	ghOperand = lazy.Regexp(`^(#?\d+|[A-Za-z0-9][\w.-]*(/[\w.-]+){0,2})$`)
	onlyRepo  = lazy.Regexp("^" + ghRepo + "$")
)

// checkGH refuses other hosts, and filters that look at the environment.
func checkGH(u *invocation) string {
	for _, o := range u.operands {
		ok := ghOperand().MatchString(o.Text) || u.command.Args[0].Text == "search"
		if u.command.Args[0].Text == "repo" {
			ok = onlyRepo().MatchString(o.Text)
		}
		if !ok || !o.Static {
			return shorten(o.Text) + " may be on another host"
		}
	}
	for _, g := range u.given {
		if (g.name == "q" || g.name == "jq") && jqReaches().MatchString(g.value.Text) {
			return "a jq filter that looks at more than its input"
		}
	}
	return ""
}

// awsReads are the services whose descriptions hold no secrets, with the verbs that are known.
var awsReads = table{
	{"get-caller-identity", "sts"}, {"ls", "s3"},
	{"describe-instances describe-vpcs describe-subnets describe-security-groups describe-volumes describe-snapshots " +
		"describe-images describe-regions describe-availability-zones describe-route-tables describe-addresses " +
		"describe-instance-types describe-instance-status describe-network-interfaces describe-nat-gateways " +
		"describe-key-pairs", "ec2"},
	{"list-clusters list-services list-tasks describe-clusters describe-services", "ecs"},
	{"list-clusters list-nodegroups describe-cluster describe-nodegroup", "eks"},
	{"describe-db-instances describe-db-clusters describe-db-snapshots", "rds"},
	{"list-users list-roles list-groups list-policies get-user get-role list-attached-role-policies", "iam"},
	{"describe-repositories describe-images list-images", "ecr"},
	{"describe-load-balancers describe-target-groups describe-target-health describe-listeners", "elbv2"},
	{"describe-log-groups describe-log-streams", "logs"},
	{"list-stacks describe-stacks describe-stack-events", "cloudformation"},
	{"describe-auto-scaling-groups", "autoscaling"}, {"list-hosted-zones", "route53"},
	{"describe-alarms list-metrics", "cloudwatch"}, {"list-topics", "sns"}, {"list-queues", "sqs"},
	{"list-tables describe-table", "dynamodb"}, {"list-certificates describe-certificate", "acm"},
	{"list-layers", "lambda"}, {"list-profiles", "configure"},
}

// checkAWS accepts these, without values that name a file or another server.
func checkAWS(u *invocation) string {
	if len(u.operands) < 2 || !awsReads.of(u.operands[0].Text).Has(u.operands[1].Text) {
		return "it is not known to only read"
	}
	for _, x := range u.plainWords() {
		if strings.Contains(x, "file:") || strings.Contains(x, "fileb:") || strings.Contains(x, "http") {
			return shorten(x) + " is read from elsewhere"
		}
	}
	return ""
}

// certificates are names that are secret, since a key may be with a certificate. openssl x509 shows the latter alone.
var certificates = lazy.Regexp(`(?i)^[^/]*\.(pem|crt|cer|der)$`)

func checkCertificate(u *invocation) string {
	for _, g := range u.given {
		if g.name != "in" {
			continue
		}
		if strings.Contains(g.value.Text, ":") {
			return shorten(g.value.Text) + " may be an address"
		}
		base := path.Base(g.value.Text)
		if certificates().MatchString(base) && !strings.Contains(strings.ToLower(base), "key") {
			g.value.Text = path.Dir(g.value.Text) + "/x"
		}
		if why := u.workdirs.path(g.value); why != "" {
			return why
		}
	}
	return ""
}

// yqReaches are the operators of yq by which a filter does more than change its input.
var yqReaches = lazy.Regexp(`(^|[^.\w]|\.\.)(load\w*|strenv|envsubst|system|eval|exec|filename|file_index|split_doc)\b`)

// checkYq repeats the check of jq. A file in place of a filter is read as one, so it must be no secret either.
func checkYq(u *invocation) string {
	if why := checkJq(u); why != "" || len(u.operands) == 0 {
		return why
	}
	if yqReaches().MatchString(u.operands[0].Text) {
		return "a yq filter that looks at more than its input"
	}
	return u.workdirs.path(u.operands[0])
}

var plainExpression = lazy.Regexp(`^(\s|\d{1,15}(\.\d+)?|[-+*/%(),]|'[\w .,:!-]*'|"[\w .,:!-]*"|` +
	`process\.(version|platform|arch|pid)\b|process\.versions\.\w+)*$`)

// literalProgram reports node -p with a calculation.
func literalProgram(c *Command) bool {
	return c.Name == "node" && len(c.Args) == 2 && (c.Args[0].Text == "-p" || c.Args[0].Text == "--print") &&
		c.Args[1].Static && plainExpression().MatchString(c.Args[1].Text) && !strings.Contains(c.Args[1].Text, "**")
}
