// Command conch is a push-to-talk voice appliance.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"conch/device/config"
	"conch/device/control"
	"conch/device/printable"
	"conch/device/redact"
)

// Exit codes, the same for every subcommand.
const (
	exitOK    = 0
	exitFault = 1 // it ran, and something failed
	exitUsage = 2 // a flag, file, device or value was refused; nothing was started
)

// cli is the subcommand table. Its groups are in groups (help.go), examples of each command in examples.go.
type cli struct {
	Config  string            `help:"Configuration file (default: $XDG_CONFIG_HOME/conch/conch.toml, else /etc/conch/conch.toml)." placeholder:"FILE" short:"c"`
	Set     map[string]string `help:"Override one setting, e.g. --set audio.volume=40." placeholder:"KEY=VALUE" short:"s" mapsep:"none"`
	Version versionFlag       `help:"Print the version."`

	Run    runCmd    `cmd:"" group:"day" help:"Be the appliance: press, speak, be answered."`
	Status statusCmd `cmd:"" group:"day" help:"Say how the running appliance is, on one screen."`
	Ask    askCmd    `cmd:"" group:"day" help:"Ask the running appliance a question, as if spoken."`
	Say    sayCmd    `cmd:"" group:"day" help:"Have the running appliance say something."`
	Hush   hushCmd   `cmd:"" group:"day" help:"Silence it at once, and the room with it. A reminder that it cuts is said once more."`
	Volume volumeCmd `cmd:"" group:"day" help:"Say how loud it is, or set it."`
	Mute   muteCmd   `cmd:"" group:"day" help:"Close the running appliance's microphone, or open it again."`
	Why    whyCmd    `cmd:"" group:"day" help:"Print why somebody spoke last and others did not; what the appliance saw and did with --all."`
	Notes  notesCmd  `cmd:"" group:"day" help:"List what companions were told to remember, and erase it."`
	Usage  usageCmd  `cmd:"" group:"day" help:"Print what was used today, and lift today's limit."`
	Web    webCmd    `cmd:"" group:"day" help:"Let browsers look at this device and talk to it, and end that."`
	Help   helpCmd   `cmd:"" group:"day" help:"Explain a command."`

	Setup  setupCmd  `cmd:"" group:"setup" help:"Ask for the board, the sound, the button, the voice and the language, and try them."`
	Key    keyCmd    `cmd:"" group:"setup" help:"Store the key of the voice for the service, and restart it."`
	Check  checkCmd  `cmd:"" group:"setup" help:"Check the configuration and print every value with where it came from."`
	Doctor doctorCmd `cmd:"" group:"setup" help:"Look for what could be wrong here, and say what to do about it."`
	Report reportCmd `cmd:"" group:"setup" help:"Write a file that a report of a fault needs: doctor, versions, the last turn, configuration; no key, and no words."`
	Logs   logsCmd   `cmd:"" group:"setup" help:"Show what the service, or the appliance that runs, has logged."`
	Audio  audioCmd  `cmd:"" group:"setup" help:"List and test sound devices."`
	GPIO   gpioCmd   `cmd:"" group:"setup" name:"gpio" help:"Find pins, boards and your button."`
	Light  lightCmd  `cmd:"" group:"setup" help:"List and show what the light can tell."`

	Room roomCmd `cmd:"" group:"room" help:"Companions of several devices: who is there, who speaks and why."`

	Rehearse rehearseCmd `cmd:"" group:"developing" help:"Play a script on virtual hardware, or serve the rehearsal voice to others."`
	Bench    benchCmd    `cmd:"" group:"developing" help:"Measure this device."`

	McpServer  mcpServerCmd  `cmd:"" hidden:"" help:"Start a server of tools that the service asks for; conch-mcp.socket starts this."`
	Debug      debugCmd      `cmd:"" hidden:"" help:"For tests of the appliance."`
	Man        manCmd        `cmd:"" hidden:"" help:"Print the man page."`
	Completion completionCmd `cmd:"" hidden:"" help:"Print the completions of a shell."`
	Complete   completeCmd   `cmd:"" hidden:"" help:"Print what a shell offers for a word."`
	Versions   versionCmd    `cmd:"" name:"version" group:"developing" help:"Print the version."`
}

// env is what a subcommand may use of the world.
type env struct {
	ctx      context.Context
	in       *os.File
	out, err *printable.Writer // nothing that anybody has said steers a terminal
	config   string
	set      map[string]string
	loaded   *config.Config // once it has been read
}

func main() {
	defer func() { // a panic may repeat a secret
		if p := recover(); p != nil {
			fmt.Fprintf(printable.NewWriter(os.Stderr), "panic: %v\n\n%s", p, debug.Stack())
			os.Exit(exitUsage)
		}
	}()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// parser reads command lines into c.
func parser(c *cli, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(c, append([]kong.Option{
		kong.Name("conch"), kong.ExplicitGroups(groups), kong.Help(printHelp),
		kong.Description("A talking appliance: hold the button and talk; press again and it is silent.\n\nExit status: 0 done, 1 something " +
			"failed, 2 a flag, file, device or value was refused."),
	}, more...)...)
}

// command is the Run of the selected command. Without the parser in its hands, a quarter of a megabyte is free while it runs.
func command(k *kong.Context) func(*env) error {
	if n := k.Selected(); n != nil {
		if c, ok := n.Target.Addr().Interface().(interface{ Run(e *env) error }); ok {
			return c.Run
		}
	}
	return func(e *env) error { return k.Run(e) }
}

// run parses args, runs one subcommand, and returns the exit code.
func run(args []string, in *os.File, stdout, stderr io.Writer) (code int) {
	redact.Arguments(args...)
	out, errw := printable.NewWriter(stdout), printable.NewWriter(stderr)
	var c cli
	exited := -1
	p, err := parser(&c, kong.Writers(out, errw), kong.Exit(func(n int) { exited = n }))
	if err != nil {
		fmt.Fprintln(errw, "conch:", err)
		return exitFault
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := p.Parse(quieter(args))
	if exited >= 0 { // --help, --version
		return exited
	}
	if err != nil {
		fmt.Fprintf(errw, "conch: %s\n", wrongLine(p, err))
		return exitUsage
	}
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if term.IsTerminal(int(in.Fd())) {
		ends = append(ends, syscall.SIGHUP) // the terminal is gone; elsewhere it asks a service to read its configuration again
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	err = command(k)(&env{ctx: ctx, in: in, out: out, err: errw, config: c.Config, set: c.Set})
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
