// Command conch is a push-to-talk voice appliance.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"conch/device/config"
	"conch/device/control"
)

// Exit codes, the same for every subcommand.
const (
	exitOK    = 0
	exitFault = 1 // it ran, and something failed
	exitUsage = 2 // a flag, file, device or value was refused; nothing was started
)

// cli is the subcommand table.
type cli struct {
	Config string            `help:"Configuration file (default: $XDG_CONFIG_HOME/conch/conch.toml, else /etc/conch/conch.toml)." placeholder:"FILE" short:"c"`
	Set    map[string]string `help:"Override one setting, e.g. --set audio.volume=40." placeholder:"KEY=VALUE" short:"s" mapsep:"none"`

	Run      runCmd      `cmd:"" help:"Be the appliance: press, speak, be answered."`
	Rehearse rehearseCmd `cmd:"" help:"Play a script on virtual hardware, or serve the rehearsal voice to others."`
	Check    checkCmd    `cmd:"" help:"Check the configuration and print every value with where it came from."`
	Doctor   doctorCmd   `cmd:"" help:"Look for what could be wrong here, and say what to do about it."`
	Audio    audioCmd    `cmd:"" help:"List and test sound devices."`
	GPIO     gpioCmd     `cmd:"" name:"gpio" help:"Find pins, boards and your button."`
	Light    lightCmd    `cmd:"" help:"List and show what the light can tell."`
	Mute     muteCmd     `cmd:"" help:"Close the running appliance's microphone, or open it again."`
	Usage    usageCmd    `cmd:"" help:"Print what was used today, and lift today's limit."`
	Bench    benchCmd    `cmd:"" help:"Measure this device."`
	Ask      askCmd      `cmd:"" help:"Ask the running appliance a question, as if spoken."`
	Say      sayCmd      `cmd:"" help:"Have the running appliance say something."`
	Room     roomCmd     `cmd:"" help:"Companions of several devices: who is there, who speaks and why."`
	Why      whyCmd      `cmd:"" help:"Print why somebody spoke last and others did not; what the appliance saw and did with --all."`
	Debug    debugCmd    `cmd:"" hidden:"" help:"For tests of the appliance."`
	Key      keyCmd      `cmd:"" help:"Store the key of the voice for the service, and restart it."`
	Version  versionCmd  `cmd:"" help:"Print the version."`

	Man        manCmd        `cmd:"" hidden:"" help:"Print the man page."`
	Completion completionCmd `cmd:"" hidden:"" help:"Print the completions of a shell."`
}

// env is what a subcommand may use of the world.
type env struct {
	ctx      context.Context
	in       *os.File
	out, err io.Writer
	config   string
	set      map[string]string
	loaded   *config.Config // once it has been read
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run parses args, runs one subcommand, and returns the exit code.
func run(args []string, in *os.File, out, errw io.Writer) (code int) {
	var c cli
	exited := -1
	p, err := kong.New(&c, kong.Name("conch"), kong.Writers(out, errw), kong.UsageOnError(),
		kong.Description("A talking appliance: hold the button and talk; press again and it is silent.\n\nExit status: 0 done, 1 something "+
			"failed, 2 a flag, file, device or value was refused."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Exit(func(n int) { exited = n }))
	if err != nil {
		fmt.Fprintln(errw, "conch:", err)
		return exitFault
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := p.Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		fmt.Fprintf(errw, "conch: %v (see: conch --help)\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = k.Run(&env{ctx: ctx, in: in, out: out, err: errw, config: c.Config, set: c.Set})
	if err == nil {
		return exitOK
	}
	// That it was refused is for us; a person is told what and why.
	fmt.Fprintln(errw, "conch:", strings.TrimPrefix(err.Error(), control.ErrRefused.Error()+": "))
	if errors.Is(err, control.ErrRefused) {
		return exitUsage
	}
	return exitFault
}
