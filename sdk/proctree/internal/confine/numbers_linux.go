package confine

import "slices"

// A table has the numbers of system calls on one processor, see https://man7.org/linux/man-pages/man2/syscalls.2.html. The 32-bit
// ones are of programs that a 64-bit kernel runs too.
type table struct {
	prlimit uint32
	fcntl   []uint32
	modes   [][2]uint32 // chmod and its kind, and what makes files: their numbers, and which argument the mode is
	opens   [][2]uint32 // open: its number, and which argument the flags are, before the mode
	// metadata are the calls that change modes, owners, times and attributes.
	metadata []uint32
}

// Calls that have the same numbers everywhere: fchmodat2, and those for attributes that came later.
const fchmodat2 = 452

var later = []uint32{fchmodat2, 463 /* setxattrat */, 466 /* removexattrat */, 469 /* file_setattr */}

// What ioctl is asked to change flags, projects and generations of files.
const (
	fsSetXattr   = 0x401c5820 // FS_IOC_FSSETXATTR
	fsSetVersion = 0x40087602 // FS_IOC_SETVERSION
)

var tables = map[string]table{
	"amd64": {
		prlimit: 302, fcntl: []uint32{72},
		modes: [][2]uint32{{90, 1} /* chmod */, {91, 1} /* fchmod */, {268, 2} /* fchmodat */, {fchmodat2, 2}, {85, 1} /* creat */, {133, 1} /* mknod */, {259, 2} /* mknodat */},
		opens: [][2]uint32{{2, 1}, {257, 2} /* openat */},
		metadata: slices.Concat(later, []uint32{
			90, 91, 268, // chmod
			92, 93, 94, 260, // chown
			132, 235, 261, 280, // utime, utimes, futimesat, utimensat
			188, 189, 190, 197, 198, 199, // setxattr, removexattr
		}),
	},
	"arm64": {
		prlimit: 261, fcntl: []uint32{25},
		modes: [][2]uint32{{52, 1} /* fchmod */, {53, 2} /* fchmodat */, {fchmodat2, 2}, {33, 2} /* mknodat */},
		opens: [][2]uint32{{56, 2} /* openat */},
		metadata: slices.Concat(later, []uint32{
			52, 53, // chmod
			54, 55, // chown
			88,                  // utimensat
			5, 6, 7, 14, 15, 16, // setxattr, removexattr
		}),
	},
	"386": {
		prlimit: 340, fcntl: []uint32{55, 221},
		modes: [][2]uint32{{15, 1} /* chmod */, {94, 1} /* fchmod */, {306, 2} /* fchmodat */, {fchmodat2, 2}, {8, 1} /* creat */, {14, 1} /* mknod */, {297, 2} /* mknodat */},
		opens: [][2]uint32{{5, 1}, {295, 2} /* openat */},
	},
	"arm": {
		prlimit: 369, fcntl: []uint32{55, 221},
		modes: [][2]uint32{{15, 1} /* chmod */, {94, 1} /* fchmod */, {333, 2} /* fchmodat */, {fchmodat2, 2}, {8, 1} /* creat */, {14, 1} /* mknod */, {324, 2} /* mknodat */},
		opens: [][2]uint32{{5, 1}, {322, 2} /* openat */},
	},
}
