package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"conch/audio"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
)

// Footprint starts this very program as an appliance of its own (private state, no button but the control socket), lets
// it idle, lets it talk, lets it idle again, and prints what that cost. Budgets: APPLIANCE.md 5.
//
//	rss    VmRSS: with pages of the binary and of libraries that other processes may share (file)
//	cpu    of all threads, in percent of one core
//	wakes  how often a second a thread was woken up after it had waited (voluntary_ctxt_switches of proc(5)): those of the
//	       card, which has its periods, and our own, of which Go's monitor thread has the most: some microseconds each,
//	       several times after everything that happens
//
// That it sleeps while it idles is judged, before it talks and after: fewer wakes of our own than idleWakes. What else runs on the
// machine only adds to them, so one that has more is looked at once more.
//
// It is night for that appliance, so that it does not say aloud what is wrong with it, which would not be idling.
type Footprint struct {
	Config string        // configuration file to use, or empty
	Set    []string      // key=value overrides
	Idle   time.Duration // how long to look at it idling
	Talk   time.Duration // how long to look at it talking
	Out    io.Writer
}

const (
	idleWakes = 100              // of our own, a second
	judged    = 10 * time.Second // of idling at the least: a shorter look sees what has only just begun
)

var errAwake = errors.New("it does not sleep while it idles")

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

	args := []string{"run", "--set", "state.dir=" + dir, "--set", "state.runtime=" + dir, "--set", "button.source=none", "--set", "device.quiet=00:00-23:59"}
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

	var cfg config.Config
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

	return f.measure(ctx, remote, pid)
}

// measure shows what the process takes while it is idle, while it talks, and when it is idle again.
func (f Footprint) measure(ctx context.Context, remote *control.Remote, pid int) error {
	var broken error
	show := func(what string, d time.Duration) (own float64, err error) {
		c, err := sampleProcess(ctx, pid, d)
		if err == nil {
			fmt.Fprintf(f.Out, "%-15s rss %5.1f MiB (peak %5.1f, file %5.1f)  cpu %5.2f %% of one core  wakes %4.0f/s of the card, %4.0f/s of our own\n",
				fmt.Sprintf("%s %4.0f s", what, d.Seconds()), c.rss, c.peak, c.file, c.cpu, c.card, c.own)
		}
		return c.own, err
	}
	idle := func(what string) error {
		own, err := show(what, f.Idle)
		if err == nil && own >= idleWakes && f.Idle >= judged {
			own, err = show(what, f.Idle)
		}
		if err == nil && own >= idleWakes && f.Idle >= judged {
			broken = fmt.Errorf("footprint: %w: %s it woke %.0f times a second; must be fewer than %d (which threads: top -H; at what: strace -f -c)",
				errAwake, what, own, idleWakes)
		}
		return err
	}
	if err := idle("idle"); err != nil {
		return err
	}
	talking, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := make(chan struct{})
	go func() { // ends with the function: every request is bound to talking
		defer close(silent)
		for talking.Err() == nil {
			_ = remote.Do(talking, "POST", "/ask", map[string]string{"text": "tell me a story"}, nil)
		}
	}()
	if _, err := show("talking", f.Talk); err != nil {
		return err
	}
	cancel()
	<-silent
	for _, edge := range []string{"/press", "/release"} { // a press too short to have said anything: it listens, and is idle
		if err := remote.Do(ctx, "POST", edge, nil, nil); err != nil {
			return fmt.Errorf("footprint: %w", err)
		}
		if err := wait.For(ctx, 100*time.Millisecond); err != nil { // or the one undoes the other, as a bounce
			return fmt.Errorf("footprint: %w", err)
		}
	}
	if err := waitIdle(ctx, remote, 30*time.Second); err != nil {
		return fmt.Errorf("footprint: it went on talking: %w", err)
	}
	if err := idle("idle again"); err != nil {
		return err
	}
	return broken
}

// waitIdle polls the appliance until it has been quiet twice in a row.
func waitIdle(ctx context.Context, remote *control.Remote, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var s control.Status
	for idle := 0; idle < 2; {
		if err := remote.Do(ctx, "GET", "/status", nil, &s); err != nil {
			return err
		}
		if idle++; !s.Quiet {
			idle = 0
		}
		if err := wait.For(ctx, 500*time.Millisecond); err != nil {
			return fmt.Errorf("%w (state %s)", err, s.State)
		}
	}
	return nil
}

// waitReady polls the control socket of a starting appliance.
func waitReady(ctx context.Context, cfg config.Config, limit time.Duration) (*control.Remote, control.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		r, err := control.Dial(cfg)
		if err == nil {
			var s control.Status
			if err = r.Do(ctx, "GET", "/status", nil, &s); err == nil && s.Ready {
				return r, s, nil
			}
		}
		if err != nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return nil, control.Status{}, fmt.Errorf("%w (last: %w)", ctx.Err(), last)
		case <-tick.C:
		}
	}
}

type processCost struct {
	rss, peak float64 // MiB
	file      float64 // MiB, of rss
	cpu       float64 // % of one core
	card, own float64 // wakes a second
}

func sampleProcess(ctx context.Context, pid int, d time.Duration) (processCost, error) {
	before, err := cpuTicks(pid)
	if err != nil {
		return processCost{}, fmt.Errorf("footprint: %w", err)
	}
	var c processCost
	woken, err := wakeups(pid)
	if err != nil {
		return c, fmt.Errorf("footprint: %w", err)
	}
	begin, tick := time.Now(), time.NewTicker(200*time.Millisecond)
	defer tick.Stop()
	for time.Since(begin) < d {
		select {
		case <-ctx.Done():
			return c, ctx.Err()
		case <-tick.C:
		}
		if c.rss, c.file, err = rssMiB(pid); err != nil {
			return c, fmt.Errorf("footprint: %w", err)
		}
		c.peak = max(c.peak, c.rss)
	}
	after, err := cpuTicks(pid)
	if err != nil {
		return c, fmt.Errorf("footprint: %w", err)
	}
	now, err := wakeups(pid)
	if err != nil {
		return c, fmt.Errorf("footprint: %w", err)
	}
	for thread, n := range now { // one that has ended has none
		n.wakes -= woken[thread].wakes
		if per := float64(n.wakes) / time.Since(begin).Seconds(); n.name == audio.ThreadName {
			c.card += per
		} else {
			c.own += per
		}
	}
	c.cpu = 100 * float64(after-before) / clockTick / time.Since(begin).Seconds()
	return c, nil
}

// rssMiB reads VmRSS of proc(5) status, and what of it is backed by files.
func rssMiB(pid int) (rss, file float64, err error) {
	path := filepath.Join("/proc", strconv.Itoa(pid), "status")
	kb, err := statusField(path, "VmRSS:")
	if err != nil {
		return 0, 0, err
	}
	mapped, err := statusField(path, "RssFile:")
	return float64(kb) / 1024, float64(mapped) / 1024, err
}

// threadWakes is what proc(5) counts of one thread.
type threadWakes struct {
	name  string
	wakes int64
}

// wakeups looks at each thread.
func wakeups(pid int) (map[string]threadWakes, error) {
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*"))
	if err != nil {
		return nil, err
	}
	all := map[string]threadWakes{}
	for _, dir := range threads {
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		var n int64
		if err == nil {
			n, err = statusField(filepath.Join(dir, "status"), "voluntary_ctxt_switches:")
		}
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		all[dir] = threadWakes{strings.TrimSpace(string(name)), n}
	}
	return all, nil
}

// statusField reads a number of proc(5) status, in kB where it has a unit.
func statusField(path, name string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, name); ok {
			return strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
		}
	}
	return 0, fmt.Errorf("%s: no %s", path, name)
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
