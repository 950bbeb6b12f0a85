package shellcmd

// textRows are programs that change text on its way through.
var textRows = []row{
	{"sort", "b c C d f g h i k= m M n r R s S= t= u V z check? ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse sort= version-sort batch-size= key= merge buffer-size= stable field-separator= parallel= unique zero-terminated", spec{operands: paths}},
	{"uniq", "c d D f= i s= u w= z count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique zero-terminated check-chars=", spec{operands: paths, max: 1, first: true}},
	{"cut", "b= c= d= f= n s z bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated", spec{operands: paths, globs: anyGlob}},
	{"tr", "c C d s t complement delete squeeze-repeats truncate-set1", spec{operands: texts}},
	{"paste", "d= s z delimiters= serial zero-terminated", spec{operands: paths, globs: anyGlob}},
	{"join", "a= e= i j= o= t= v= 1= 2= z ignore-case check-order nocheck-order header zero-terminated", spec{operands: paths, globs: anyGlob}},
	{"fold", "b s w= bytes spaces width=", spec{operands: paths, globs: anyGlob, count: true}},
	{"fmt", "c s t u w= p= width= prefix= split-only uniform-spacing", spec{operands: paths, globs: anyGlob, count: true}},
	{"column", "t s= n x c= o= N= R= e table separator= output-separator= columns= fillrows table-columns= table-right=", spec{operands: paths, globs: anyGlob}},
	{"expand|unexpand", "a i t= all initial first-only tabs=", spec{operands: paths, globs: anyGlob}},
	{"rev", "", spec{operands: paths, globs: anyGlob}},
	{"base64|base32", "d i w= decode ignore-garbage wrap=", spec{operands: paths, globs: anyGlob}},
	{"awk|gawk|mawk|nawk", "F= v=", spec{operands: firstText, check: checkAwk}},
	{"echo", "", spec{raw: true, operands: texts, globs: anyGlob, digits: true, says: true}},
	{"printf", "", spec{operands: texts, digits: true, says: true, globs: anyGlob, first: true, check: checkPrintf}},
	{"expr", "", spec{raw: true, operands: texts, digits: true}},
	{"seq", "f= s= w format= separator= equal-width", spec{operands: texts, count: true}},
	{"basename", "a s= z multiple suffix= zero", spec{operands: texts, globs: anyGlob, says: true}},
	{"dirname", "z zero", spec{operands: texts, globs: anyGlob, says: true}},
}

// systemRows are programs that tell about the machine.
var systemRows = []row{
	{"whoami|arch|nproc|tty|groups|logname", "all version help", spec{max: -1}},
	{"pwd", "L P", spec{max: -1}},
	{"id", "a G g n r u z group groups name real user zero", spec{operands: texts}},
	{"hostname", "a A d f i I s all-fqdns all-ip-addresses domain fqdn long ip-address short", spec{max: -1}},
	{"uname", "a s n r v m p i o all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system", spec{max: -1}},
	{"date", "d= I? R u r/ date= iso-8601? rfc-3339= rfc-email utc universal reference/", spec{operands: texts, max: 1, check: checkDate}},
	{"uptime", "p s pretty since", spec{max: -1}},
	{"free", "b k m g h t w bytes kibi mebi gibi human total wide si", spec{max: -1}},
	{"ps", "A a d e f F H j l L N o= O= p= C= u= U= t= T w y forest pid= ppid= sort= user= format= no-headers headers", spec{operands: texts, check: checkPs}},
	{"which", "a all", spec{operands: texts}},
	{"type", "a t p P f", spec{operands: texts}},
	{"whereis", "b m s u", spec{operands: texts}},
	{"sleep", "", spec{operands: texts, check: checkSleep}},
	{"locale", "a", spec{operands: texts, max: 1}},
}

// plumbingRows are what commands are joined with. They are allowed wherever their parts are.
var plumbingRows = []row{
	{"true|false|:|break|continue", "", spec{raw: true, operands: texts, digits: true, says: true}},
	{"exit|return", "", spec{operands: texts, max: 1, digits: true}},
	{"cd", "", spec{operands: paths, max: 1}},
	{"set", "", spec{raw: true, check: checkSet}},
	{"test|[|[[", "", spec{raw: true, digits: true, check: checkTest}},
	{"wait", "", spec{max: -1}},
}
