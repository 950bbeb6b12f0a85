package sandbox

import (
	"cmp"
	"slices"

	"github.com/toolhost/toolhost/sdk/proctree"
)

// orders say what of the sandbox this machine can do.
func (s Plan) orders() *proctree.Restrictions {
	box, m, confined := s.Box, s.Means, s.confined()
	o := &proctree.Restrictions{
		Expendable: true, Umask: box.PrivateFiles, NoNewPrivileges: !box.NewPrivileges && m.NoNewPrivs, ABI: m.Landlock,
		Files: uint64(cmp.Or(box.Limits.Files, DefaultFiles)), FileSize: uint64(cmp.Or(box.Limits.FileSize, DefaultFileSize)),
		Memory: uint64(box.Limits.Memory), Processes: uint64(box.Limits.Processes),
	}
	if !o.NoNewPrivileges { // nothing below can be done without
		return o
	}
	o.Writes = confined && m.Landlock > 0
	o.Reads = o.Writes && box.Asked() == Isolated
	o.NoTCP, o.NoSockets = !box.HasNetwork(), !box.HasNetwork() && m.Seccomp
	o.NoKernel = box.Asked() == Isolated && m.Seccomp
	o.NoInterference, o.NoSetID = confined && m.Seccomp, confined && m.Seccomp
	o.NoMetadata = o.NoKernel && !m.Protects() // else what is not the plugin's is read-only
	o.Write = slices.Concat(devices, s.ownFolders())
	if confined && m.Namespaces {
		o.Write = append(o.Write, SharedMemory)
	}
	if o.Reads {
		o.Read = slices.Concat(readable, withoutNested(slices.Clone(box.Read), s.writable()))
	}
	return o
}
