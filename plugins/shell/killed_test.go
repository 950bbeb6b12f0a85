//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk/proctree"
)

// roleVar makes the test binary a process that has a job and a file, and runs the command that it names.
const roleVar = "SHELL_TEST_JOB"

func TestMain(m *testing.M) {
	if command := os.Getenv(roleVar); command != "" {
		playPlugin(command)
		return
	}
	os.Exit(runAll(m))
}

// runAll runs the tests with a folder for what plugins leave.
func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "")
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

func playPlugin(command string) {
	l := &library{}
	files := &shelf{library: l, limit: 100}
	_, wrong := files.open("stdout")
	cmd := proctree.Command("bash", "-c", command)
	cmd.Stdout = os.Stdout
	_, err := newJobs().begin("", command, cmd, newTranscript(minKeep, files), 1, 0)
	if err != nil || wrong != nil {
		fmt.Println(err, wrong)
	}
	select {}
}

// A plugin that is killed leaves no job behind. Its output stays for a while.
func TestPluginIsKilled(t *testing.T) {
	if proctree.Containment() != "process-tree" {
		return // elsewhere nobody is left to end the job
	}
	l, dir := newLifeline(t), t.TempDir()
	plugin := exec.Command(os.Args[0])
	plugin.Env = append(os.Environ(), "TMPDIR="+dir, roleVar+"="+l.leftBehind()+`exec 8>"`+l.path+`"; echo up; sleep 600`)
	out, err := plugin.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := plugin.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "up\n" {
		t.Errorf("it says %q, %v", line, err)
	}
	sweep(dir)
	if left, _ := filepath.Glob(filepath.Join(dir, folderPrefix+"*", "*.txt")); len(left) != 1 {
		t.Errorf("while it runs there are the files %q", left)
	}
	_ = plugin.Process.Kill()
	_ = plugin.Wait()
	l.wantEnd(t)
	sweep(dir)
	left, _ := filepath.Glob(filepath.Join(dir, folderPrefix+"*", "*.txt"))
	if len(left) != 1 {
		t.Fatalf("it leaves the files %q", left)
	}
	long := time.Now().Add(-2 * leftAge)
	if err := os.Chtimes(left[0], long, long); err != nil {
		t.Fatal(err)
	}
	sweep(dir)
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("later it leaves %q", left)
	}
}
