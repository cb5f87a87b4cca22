// Command table ends make bench: it prints what became of every promise, and fails where one is broken or a benchmark told nothing.
//
//	table [-all] [-svg PICTURE] FILE        -all: every benchmark that promises something must be in FILE
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"conch/device/benchtest"
)

// promising are the benchmarks that hold something against a bound, as the table shows them.
var promising = []string{
	"Silence/alsa/5x8/idle", "Silence/alsa/2.5x4/idle", "Silence/alsa/10x3/idle",
	"Silence/alsa/5x8/outside", "Silence/alsa/5x8/inside", "Silence/alsa/5x8/collections", "Silence/flag/5x3/idle", "Silence/flag/10x3/idle",
	"SilenceOthers/blocking-1024-silence", "SilenceOthers/blocking-1024-abort", "SilenceOthers/blocking-512-abort", "SilenceOthers/aplay", "SilenceOthers/mpv",
	"Silence/virtual/5x8/idle", "Silence/virtual/2.5x4/idle", "Silence/virtual/5x8/outside", "Silence/virtual/5x8/inside",
	"Silence/pulse/5x3/idle", "Silence/pulse/5x3/outside", "Silence/pulse/5x3/inside",
	"RoomHush/embedded", "RoomHush/mosquitto", "RoomGap",
	"Room/embedded/2x1", "Room/embedded/3x1", "Room/mosquitto/2x1", "Room/mosquitto/3x1",
	"RoomProcesses/embedded", "RoomProcesses/mosquitto",
	"Round/devices=2/companions=2", "Round/devices=3/companions=3", "Round/devices=10/companions=10", "Round/devices=50/companions=100",
	"Decision", "Evening/rules/three-devices", "Evening/auto/three-devices", "Evening/auto/one-device", "Evening/model/three-devices",
	"Evening/auto-always-10/three-devices", "Evening/model-always-10/three-devices",
	"Footprint", "TLSAgainstPlain", "Flood/embedded", "Flood/mosquitto", "Start", "Page/browser", "Page/program",
	"OwnDelay", "FirstSound/tokens=10", "FirstSound/tokens=30", "FirstSound/tokens=100",
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) (status int) {
	flags := flag.NewFlagSet("table", flag.ContinueOnError)
	flags.SetOutput(errs)
	all := flags.Bool("all", false, "every benchmark that promises something must have told")
	svg := flags.String("svg", "", "draw the distributions of silence into this file, if there are any")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		fmt.Fprintln(errs, "usage: table [-all] [-svg PICTURE] FILE")
		return 2
	}
	f, err := os.Open(flags.Arg(0))
	if err != nil {
		fmt.Fprintln(errs, "table: no benchmark has told anything:", err)
		return 1
	}
	defer func() { _ = f.Close() }() // only read
	results, err := benchtest.Results(f)
	if err != nil {
		fmt.Fprintln(errs, "table:", err)
		return 1
	}
	var strips []benchtest.Strip
	for _, r := range results {
		if r.Strip != nil {
			strips = append(strips, *r.Strip)
		}
	}
	if *svg != "" && len(strips) > 0 {
		if err := os.WriteFile(*svg, benchtest.Picture(strips), 0o644); err != nil {
			fmt.Fprintln(errs, "table:", err)
			return 1
		}
	}
	must := promising
	if !*all {
		must = nil
	}
	if broken := benchtest.Table(out, results, must); broken > 0 {
		fmt.Fprintf(errs, "table: %d promises are broken\n", broken)
		return 1
	}
	return 0
}
