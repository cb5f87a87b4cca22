package service

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Conceal gives environment, memory, open files and root of this process in /proc to root (proc(5), PR_SET_DUMPABLE): a program that
// runs as the same user reads no key there. execve undoes it, and no core is written. Root reads no secret in the environment either.
func Conceal() error {
	block, at, err := environment()
	if err == nil {
		err = overwrite(block, at)
	}
	if dumpable := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); dumpable != nil {
		return fmt.Errorf("service: hide the memory of this process from other programs of its user: %w", dumpable)
	}
	if err != nil {
		return fmt.Errorf("service: take secrets out of /proc/self/environ: %w (other programs of this user cannot read it)", err)
	}
	return nil
}

// environment is what execve has handed over, and where that is in memory (proc(5), stat, field 50). Go works with a copy of it.
func environment() (block []byte, at uint64, err error) {
	if block, err = os.ReadFile("/proc/self/environ"); err != nil {
		return nil, 0, err
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return nil, 0, err
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from field 3
	if len(f) < 50-2 {
		return nil, 0, fmt.Errorf("/proc/self/stat: %d fields", len(f))
	}
	at, err = strconv.ParseUint(f[50-3], 10, 64)
	return block, at, err
}

// overwrite writes over what the variables with secrets hold.
func overwrite(block []byte, at uint64) error {
	pid := os.Getpid()
	for entry := range bytes.SplitAfterSeq(block, []byte{0}) {
		name, value, _ := bytes.Cut(bytes.TrimSuffix(entry, []byte{0}), []byte{'='})
		if s := string(name); len(value) > 0 && (s == "OPENAI_API_KEY" || strings.HasPrefix(s, "CONCH_")) {
			blank := bytes.Repeat([]byte{'.'}, len(value))
			local := []unix.Iovec{{Base: &blank[0]}}
			local[0].SetLen(len(blank))
			to := []unix.RemoteIovec{{Base: uintptr(at) + uintptr(len(name)) + 1, Len: len(blank)}}
			if _, err := unix.ProcessVMWritev(pid, local, to, 0); err != nil {
				return err
			}
		}
		at += uint64(len(entry))
	}
	return nil
}
