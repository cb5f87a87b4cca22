package device

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Footprint starts this very program as an appliance of its own (private state, no button but the control socket), lets
// it idle, lets it talk, and prints what that cost. Budgets: appliance.md 5.
type Footprint struct {
	Config string        // configuration file to use, or empty
	Set    []string      // key=value overrides
	Idle   time.Duration // how long to look at it idling
	Talk   time.Duration // how long to look at it talking
	Out    io.Writer
}

// clockTick is USER_HZ, which Linux fixes at 100 for /proc/PID/stat on every architecture Go runs on.
const clockTick = 100

// Run measures and prints. The child is ended by its process id in every case.
func (f Footprint) Run(ctx context.Context) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("footprint: %w", err)
	}
	dir, err := os.MkdirTemp("", "conch-footprint-")
	if err != nil {
		return fmt.Errorf("footprint: %w", err)
	}
	defer os.RemoveAll(dir)

	args := []string{"run", "--set", "state.dir=" + dir, "--set", "state.runtime=" + dir, "--set", "button.source=none"}
	if f.Config != "" {
		args = append(args, "--config", f.Config)
	}
	for _, s := range f.Set {
		args = append(args, "--set", s)
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &log
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("footprint: %w", err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	pid := cmd.Process.Pid

	var cfg Config
	cfg.State.Runtime = dir
	remote, status, err := waitReady(ctx, cfg, 30*time.Second)
	if err != nil {
		return fmt.Errorf("footprint: the appliance did not become ready: %w\n%s", err, log.String())
	}
	ready := time.Since(started)
	st, err := os.Stat(exe)
	if err != nil {
		return fmt.Errorf("footprint: %w", err)
	}
	fmt.Fprintf(f.Out, "method          this program as a process of its own, figures from /proc/PID (children apart)\n")
	fmt.Fprintf(f.Out, "sound           %s\nvoice           %s\n", status.Sound, status.Voice)
	fmt.Fprintf(f.Out, "binary          %.1f MB\n", float64(st.Size())/1e6)
	fmt.Fprintf(f.Out, "exec to ready   %d ms\n", ready.Milliseconds())

	idle, err := sampleProcess(ctx, pid, f.Idle)
	if err != nil {
		return err
	}
	fmt.Fprintf(f.Out, "idle %4.0f s     rss %5.1f MiB (peak %5.1f)  cpu %5.2f %% of one core\n", f.Idle.Seconds(), idle.rss, idle.peak, idle.cpu)

	talking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the function: every request is bound to talking
		for talking.Err() == nil {
			_ = remote.Do(talking, "POST", "/ask", map[string]string{"text": "tell me a story"}, nil)
		}
	}()
	talk, err := sampleProcess(ctx, pid, f.Talk)
	if err != nil {
		return err
	}
	fmt.Fprintf(f.Out, "talking %4.0f s  rss %5.1f MiB (peak %5.1f)  cpu %5.2f %% of one core\n", f.Talk.Seconds(), talk.rss, talk.peak, talk.cpu)
	return nil
}

// waitReady polls the control socket of a starting appliance.
func waitReady(ctx context.Context, cfg Config, limit time.Duration) (*Remote, Status, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		r, err := Dial(cfg)
		if err == nil {
			var s Status
			if err = r.Do(ctx, "GET", "/status", nil, &s); err == nil && s.Ready {
				return r, s, nil
			}
		}
		if err != nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return nil, Status{}, fmt.Errorf("%w (last: %w)", ctx.Err(), last)
		case <-tick.C:
		}
	}
}

type processCost struct {
	rss, peak float64 // MiB
	cpu       float64 // % of one core
}

func sampleProcess(ctx context.Context, pid int, d time.Duration) (processCost, error) {
	before, err := cpuTicks(pid)
	if err != nil {
		return processCost{}, fmt.Errorf("footprint: %w", err)
	}
	var c processCost
	begin, tick := time.Now(), time.NewTicker(200*time.Millisecond)
	defer tick.Stop()
	for time.Since(begin) < d {
		select {
		case <-ctx.Done():
			return c, ctx.Err()
		case <-tick.C:
		}
		if c.rss, err = rssMiB(pid); err != nil {
			return c, fmt.Errorf("footprint: %w", err)
		}
		c.peak = max(c.peak, c.rss)
	}
	after, err := cpuTicks(pid)
	if err != nil {
		return c, fmt.Errorf("footprint: %w", err)
	}
	c.cpu = 100 * float64(after-before) / clockTick / time.Since(begin).Seconds()
	return c, nil
}

// rssMiB reads VmRSS of proc(5) status.
func rssMiB(pid int) (float64, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status: no VmRSS", pid)
}

// cpuTicks reads utime+stime of proc(5) stat, fields 14 and 15, counted after the parenthesised name.
func cpuTicks(pid int) (int64, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(f))
	}
	u, err := strconv.ParseInt(f[11], 10, 64)
	if err != nil {
		return 0, err
	}
	s, err := strconv.ParseInt(f[12], 10, 64)
	return u + s, err
}
