package supervise

import "os"

// A pipe has an end to read and one to write.
type pipe struct{ r, w *os.File }

// pipes are the three streams of a process.
type pipes struct{ stdin, stdout, stderr pipe }

func (p *pipes) open() (err error) {
	for _, one := range []*pipe{&p.stdin, &p.stdout, &p.stderr} {
		if one.r, one.w, err = os.Pipe(); err != nil {
			p.closeAll()
			return err
		}
	}
	return nil
}

// closeTheirs closes the ends that the process has copies of.
func (p *pipes) closeTheirs() { closeFiles(p.stdin.r, p.stdout.w, p.stderr.w) }

func (p *pipes) closeAll() {
	p.closeTheirs()
	closeFiles(p.stdin.w, p.stdout.r, p.stderr.r)
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // also nil
	}
}
