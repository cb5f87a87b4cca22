package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Options are what a guest is made with.
type Options struct {
	Image    string   // directory that image.sh printed
	Arch     string   // arm64, amd64, armhf
	Dir      string   // where its disk, sockets and console go; made if it is not there
	From     string   // directory of a stopped guest to continue from a copy of; empty: a new disk
	Snapshot string   // moment of From to continue from; empty: power on
	Memory   int      // MiB; 0: 768
	Seen     int      // MiB the kernel may use of it; 0: all
	CPUs     int      // 0: 1
	Clock    string   // what the hardware clock says at power on, as in 1970-01-01; empty: the time
	Sound    string   // file for what a card on USB plays; empty: no such card. A guest with one cannot be saved.
	Door     []string // program that answers what the guest says to DoorAddress; none: no network at all
}

// DoorAddress is the one thing the guest's network reaches.
const DoorAddress = "10.0.2.100:8080"

// Guest is one virtual machine.
type Guest struct {
	// fixed after Start
	o       Options
	cmd     *exec.Cmd
	ended   chan struct{} // closed when QEMU has ended; err is set then
	err     error
	sockets string // their directory, while QEMU runs

	// owned by the caller's goroutine
	qmp, agent *wire
}

// Start powers a guest on, or continues a saved moment, and returns when its agent answers.
func Start(ctx context.Context, o Options) (*Guest, error) {
	if o.Memory == 0 {
		o.Memory = 768
	}
	if o.CPUs == 0 {
		o.CPUs = 1
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	disk := filepath.Join(o.Dir, "disk.qcow2")
	var err error
	switch {
	case o.From != "":
		err = copyFile(filepath.Join(o.From, "disk.qcow2"), disk)
	case !exists(disk): // else it is switched on again
		err = output(exec.CommandContext(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", filepath.Join(o.Image, "disk.img"), disk))
	}
	if err != nil {
		return nil, fmt.Errorf("vm: disk: %w", err)
	}
	g := &Guest{o: o, ended: make(chan struct{})}
	if err := g.powerOn(ctx); err != nil {
		g.Cut()
		return nil, fmt.Errorf("%w\n%s", err, tail(g.Console(), 30))
	}
	return g, nil
}

// kvmHangs is set when a guest under KVM has said nothing: there are machines where /dev/kvm opens and a guest never gets to
// its first line (vm/FACTS.md B).
var kvmHangs atomic.Bool

func (g *Guest) powerOn(ctx context.Context) error {
	if err := g.launch(ctx); err != nil {
		return err
	}
	if g.accelerated() && g.o.Snapshot == "" && !g.speaks(ctx) {
		kvmHangs.Store(true)
		g.Cut()
		g.ended, g.qmp = make(chan struct{}), nil
		if err := g.launch(ctx); err != nil {
			return err
		}
	}
	if err := g.reach(ctx); err != nil {
		return err
	}
	if g.o.Snapshot != "" { // its clock stood still
		return g.SetClock(time.Now())
	}
	return nil
}

func (g *Guest) accelerated() bool { return slices.Contains(g.cmd.Args, "kvm") }

// speaks says that the guest's console has said something, and waits for that a while.
func (g *Guest) speaks(ctx context.Context) bool {
	for range 100 {
		if g.Console() != "" {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(300 * time.Millisecond):
		}
	}
	return false
}

// launch starts QEMU and returns when its monitor answers.
func (g *Guest) launch(ctx context.Context) error {
	// A socket's path is at most 107 bytes (unix(7)), and Dir lies as deep as the checkout and the test's name have it.
	sockets, err := os.MkdirTemp("", "vm")
	if err != nil {
		return fmt.Errorf("vm: %w", err)
	}
	g.sockets = sockets
	args, err := g.arguments()
	if err != nil {
		return errors.Join(err, os.RemoveAll(sockets))
	}
	errs, err := os.Create(filepath.Join(g.o.Dir, "qemu.log"))
	if err != nil {
		return err
	}
	defer errs.Close()
	g.cmd = exec.Command(args[0], args[1:]...)
	g.cmd.Stdout, g.cmd.Stderr = errs, errs
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := g.cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("vm: %w (make deps-vm installs it)", err), os.RemoveAll(sockets))
	}
	go func() { // ends with QEMU, which Stop and Cut end
		g.err = g.cmd.Wait()
		_ = os.RemoveAll(sockets)
		close(g.ended)
	}()
	for g.qmp == nil {
		if w, err := dialWire(ctx, "QEMU", g.socket("qmp")); err == nil {
			g.qmp = w
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-g.ended:
			said, _ := os.ReadFile(errs.Name())
			return fmt.Errorf("vm: QEMU did not start: %w: %s", g.err, said)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return g.qmp.call(agentLimit, "qmp_capabilities", nil, nil)
}

// arguments is QEMU's command line.
func (g *Guest) arguments() ([]string, error) {
	kernel := "root=/dev/vda rw panic=-1 loglevel=4"
	if g.o.Seen > 0 {
		kernel += fmt.Sprintf(" mem=%dM", g.o.Seen)
	}
	var args []string
	switch g.o.Arch {
	case "amd64":
		args = append([]string{"qemu-system-x86_64", "-M", "q35"}, accelerator()...)
		kernel += " console=ttyS0"
	case "arm64", "armhf":
		// The core of a Pi Zero 2 W and of a Pi 3. Emulated: an arm64 machine that runs this is welcome to add KVM.
		args = append([]string{"qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a53"}, emulated...)
		kernel += " console=ttyAMA0"
	default:
		return nil, fmt.Errorf("vm: no machine for %q: arm64, amd64 or armhf", g.o.Arch)
	}
	args = append(args,
		"-smp", fmt.Sprint(g.o.CPUs), "-m", fmt.Sprint(g.o.Memory), "-nodefaults", "-display", "none",
		"-kernel", filepath.Join(g.o.Image, "vmlinuz"), "-initrd", filepath.Join(g.o.Image, "initrd.img"), "-append", kernel,
		// writeback: what the guest has flushed is on the disk when QEMU is killed, and only that is sure to be.
		"-drive", "file="+filepath.Join(g.o.Dir, "disk.qcow2")+",format=qcow2,if=virtio,cache=writeback",
		"-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
		"-chardev", "socket,path="+g.socket("agent")+",server=on,wait=off,id=agent",
		"-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0",
		"-qmp", "unix:"+g.socket("qmp")+",server=on,wait=off",
		"-chardev", "file,id=console,append=on,path="+g.consolePath(), "-serial", "chardev:console",
	)
	if len(g.o.Door) == 0 {
		args = append(args, "-nic", "none")
	} else {
		door := strings.ReplaceAll("'"+strings.Join(g.o.Door, "' '")+"'", ",", ",,")
		args = append(args, "-netdev", "user,id=net,restrict=on,guestfwd=tcp:"+DoorAddress+"-cmd:"+door,
			// Nothing boots from it, and its ROM for that is in a package that not everybody has.
			"-device", "virtio-net-pci,netdev=net,id=nic,romfile=")
	}
	if g.o.Sound != "" {
		args = append(args, "-device", "qemu-xhci", "-device", "usb-audio,audiodev=usb",
			"-audiodev", "wav,id=usb,path="+g.o.Sound+",out.frequency=48000,out.channels=2,out.format=s16")
	}
	if g.o.Clock != "" {
		args = append(args, "-rtc", "base="+g.o.Clock)
	}
	if g.o.Snapshot != "" {
		args = append(args, "-loadvm", g.o.Snapshot)
	}
	return args, nil
}

// accelerator is KVM where the processor says that it has it and no guest has hung under it.
func accelerator() []string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err == nil {
		_ = f.Close()
	}
	flags := " " + strings.NewReplacer("\n", " ", "\t", " ").Replace(string(info)) + " "
	if err == nil && (strings.Contains(flags, " vmx ") || strings.Contains(flags, " svm ")) && !kvmHangs.Load() {
		return []string{"-cpu", "host", "-accel", "kvm"}
	}
	return append([]string{"-cpu", "max"}, emulated...)
}

// emulated counts time in instructions while the guest works, a nanosecond each (a core of a Pi Zero 2 W or a Pi 3 does about
// as many), and by the clock while it waits. A busy machine then makes a guest slow and not late: its sound card and its
// watchdog do not notice. With real time, a guest that was kept from running for a quarter of a second had lost its card.
var emulated = []string{"-accel", "tcg,thread=single", "-icount", "shift=0,sleep=on"}

// Save keeps this moment under a name; the disk's and the memory's. The guest goes on.
func (g *Guest) Save(name string) error { return g.monitor(3*time.Minute, "savevm "+name) }

// Link plugs the guest's network in or pulls it.
func (g *Guest) Link(up bool) error {
	return g.qmp.call(agentLimit, "set_link", map[string]any{"name": "net", "up": up}, nil)
}

// SetClock sets the guest's time of day. The agent could, but it wants a hardware clock too.
func (g *Guest) SetClock(to time.Time) error {
	r, err := g.Run(fmt.Sprintf("date -s @%d.%09d", to.Unix(), to.Nanosecond()))
	return errors.Join(err, r.Failed())
}

// Reboot lets the guest's system restart and waits until it is another one and answers.
func (g *Guest) Reboot(ctx context.Context) error {
	const which = "cat /proc/sys/kernel/random/boot_id"
	before, err := g.Run(which)
	if err != nil {
		return err
	}
	if err := g.agent.call(agentLimit, "guest-shutdown", map[string]any{"mode": "reboot"}, nil); err != nil {
		var no *commandError
		if errors.As(err, &no) {
			return err
		} // else the agent was gone before it had answered
	}
	for {
		if err := g.reach(ctx); err != nil {
			return err
		}
		if now, err := g.RunFor(20*time.Second, which); err == nil && now.Out != "" && now.Out != before.Out {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("vm: the guest did not come back: %w", ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// Cut takes the power away: QEMU is killed.
func (g *Guest) Cut() {
	if g.cmd == nil || g.cmd.Process == nil {
		return
	}
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) // with what it started as doors
	<-g.ended
	g.hangUp()
}

// Quit ends QEMU in order, without asking the guest: its disk is as if the power had gone, and what was saved is kept.
func (g *Guest) Quit() error {
	err := g.qmp.call(agentLimit, "quit", nil, nil)
	select {
	case <-g.ended:
	case <-time.After(agentLimit):
		g.Cut()
		return errors.Join(err, errors.New("vm: QEMU did not quit"))
	}
	g.hangUp()
	return err
}

// PowerOn switches a guest on again, that was cut: same disk, nothing of its memory.
func (g *Guest) PowerOn(ctx context.Context) error {
	g.ended, g.qmp, g.agent, g.o.Snapshot = make(chan struct{}), nil, nil, ""
	return g.powerOn(ctx)
}

func (g *Guest) hangUp() {
	for _, w := range []*wire{g.qmp, g.agent} {
		if w != nil {
			w.close()
		}
	}
}

// Console is all the guest's serial line has said.
func (g *Guest) Console() string {
	data, _ := os.ReadFile(g.consolePath())
	return string(data)
}

func (g *Guest) consolePath() string       { return filepath.Join(g.o.Dir, "console.log") }
func (g *Guest) socket(name string) string { return filepath.Join(g.sockets, name+".sock") }
func exists(path string) bool              { _, err := os.Stat(path); return err == nil }
func output(cmd *exec.Cmd) error {
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Args[0], err, said)
	}
	return nil
}

// tail is the end of text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// copyFile copies a disk, in no space where the file system shares blocks.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
