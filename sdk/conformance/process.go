package main

import (
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// processes are all processes that were started, so that none outlives this program, also if it is
// interrupted.
var processes struct {
	mutex   sync.Mutex
	running map[*exec.Cmd]struct{}
}

// startProcess starts a command in a process group of its own, because an adapter may be a script.
func startProcess(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	processes.mutex.Lock()
	defer processes.mutex.Unlock()
	if err := command.Start(); err != nil {
		return err
	}
	if processes.running == nil {
		processes.running = map[*exec.Cmd]struct{}{}
	}
	processes.running[command] = struct{}{}
	return nil
}

// killProcess ends a process and those that it started. Its owner still has to wait for it.
func killProcess(command *exec.Cmd) {
	processes.mutex.Lock()
	defer processes.mutex.Unlock()
	if _, ok := processes.running[command]; ok {
		syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		delete(processes.running, command)
	}
}

func killProcessesWhenInterrupted() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		processes.mutex.Lock()
		for command := range processes.running {
			syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		}
		os.Exit(130)
	}()
}
