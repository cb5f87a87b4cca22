package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"conch/device/cards"
	"conch/device/config"
	"conch/device/control"
	"conch/device/printable"
	"conch/device/sound"
)

// completeCmd prints the values that a shell offers where only this machine knows them, one a line. It is asked while somebody types:
// it has nothing to say rather than something too late, or an error.
type completeCmd struct {
	What string `arg:""`
	Word string `arg:"" optional:"" help:"What was typed of it."`
}

// completeWait is how long a person waits for it. An appliance on this machine answers in milliseconds; one that is stopped, never.
const completeWait = time.Second

func (c completeCmd) Run(e *env, k *kong.Context) error {
	ctx, cancel := context.WithTimeout(e.ctx, completeWait)
	defer cancel()
	found := make(chan []string, 1)
	go func() { found <- c.values(ctx, e, k) }() // what hangs in it ends with the program
	select {
	case list := <-found:
		for _, v := range list {
			fmt.Fprintln(e.out, printable.Text(v))
		}
	case <-ctx.Done():
	}
	return nil
}

func (c completeCmd) values(ctx context.Context, e *env, k *kong.Context) []string {
	if c.What == "commands" {
		return below(k.Model.Node)
	}
	key, _, whole := strings.Cut(c.Word, "=")
	if c.What == "settings" && !whole {
		return settings()
	}
	cfg, err := e.loadAnyway()
	if err != nil {
		return nil
	}
	if c.What != "settings" {
		return valuesHere(ctx, cfg, c.What)
	}
	list := config.Choices(key)
	switch key {
	case "audio.playback", "audio.capture":
		list = valuesHere(ctx, cfg, strings.TrimPrefix(key, "audio."))
	case "device.companion":
		list = valuesHere(ctx, cfg, "companions")
	}
	for i, v := range list {
		list[i] = key + "=" + v
	}
	return list
}

// settings are the keys, each as the beginning of KEY=VALUE.
func settings() (list []string) {
	c := config.Default()
	for _, r := range c.Describe() {
		if r.Key != "voice.key" { // not a setting: it never stands in a command line
			list = append(list, r.Key+"=")
		}
	}
	return list
}

// valuesHere are those that the appliance knows which runs, or else this machine.
func valuesHere(ctx context.Context, cfg config.Config, what string) (list []string) {
	switch what {
	case "devices":
		for _, m := range roomNow(ctx, cfg).Members {
			list = append(list, m.Name)
		}
		if p := roomNow(ctx, cfg).Paired; p != nil { // those that are not here can be removed as well
			for _, m := range p.Members {
				list = append(list, m.Name)
			}
		}
	case "companions":
		for _, m := range roomNow(ctx, cfg).Members {
			for _, c := range m.Cards {
				list = append(list, c.Name)
			}
		}
		if len(list) == 0 {
			own, _ := cards.Find(&cfg)
			for _, c := range own {
				list = append(list, c.Name)
			}
		}
	case "playback", "capture":
		devices, _ := sound.Devices(cfg, slog.New(slog.DiscardHandler))
		for _, d := range devices {
			if string(d.Kind) == what {
				list = append(list, d.ID)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// roomNow is the room of the appliance that runs; empty where none does.
func roomNow(ctx context.Context, cfg config.Config) (s control.RoomStatus) {
	if r, err := control.Dial(cfg); err == nil {
		_ = r.Do(ctx, "GET", "/room", nil, &s)
	}
	return s
}
