package config

import "slices"

// pluginDirs reads the folders to find plugins in. Whether they exist is found out when they are searched.
func (f *fields) pluginDirs() {
	dirs, ok := f.texts("plugin_dirs", checkPath)
	if !ok {
		return
	}
	e := f.body.Attributes["plugin_dirs"].Expr
	for i, dir := range dirs {
		path := f.config.absolute(dir)
		if first := slices.Index(f.config.PluginDirs, path); first >= 0 {
			f.wrong(itemRange(e, i), "item %d of plugin_dirs is the same folder as item %d", i+1, first+1).hint("remove one of the two")
		}
		f.config.PluginDirs = append(f.config.PluginDirs, path)
	}
}
