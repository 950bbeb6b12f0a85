package sandbox

// devices are what every program may write to. Terminals are not among them: a plugin has none, and one that can open
// /dev/pts can write to its user's, and read what is typed there. Whoever needs them says so: write = ["/dev/pts"].
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}

// readable is what programs need to run, without secrets: /etc has those, so it is not here as a whole. Other processes in
// /proc are the kernel's to hide: Landlock keeps their memory and environment.
var readable = []string{
	"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/nix/store", "/gnu/store",
	"/proc", "/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage", "/sys/fs/cgroup",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/ca-certificates",
	"/etc/crypto-policies", "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/hostname", "/etc/nsswitch.conf", "/etc/gai.conf",
	"/etc/passwd", "/etc/group", "/etc/localtime", "/etc/timezone", "/etc/protocols", "/etc/services", "/etc/os-release",
	"/etc/locale.conf", "/etc/locale.alias", "/etc/default/locale", "/etc/inputrc", "/etc/terminfo", "/etc/mime.types",
	"/etc/bash.bashrc", "/etc/profile", "/etc/gitconfig",
}

// SharedMemory is where programs keep what their processes share, locks above all. It is a plugin's own in a process
// namespace; without one it is where other programs of the user have theirs.
const SharedMemory = "/dev/shm"
