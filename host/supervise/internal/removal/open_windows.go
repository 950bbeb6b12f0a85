package removal

// itself needs no flags: an os.Root leads out of its folder through no link.
const itself = 0
