package device

import (
	"context"
	"net"
	"path/filepath"

	"conch/device/control"
	"conch/device/homeassistant"
)

// homeAssistantNote is the file of what Home Assistant was told, in the state directory.
const homeAssistantNote = "homeassistant.json"

// wireHomeAssistant shows this device to Home Assistant, where that is wished, and takes away what an earlier wish has left.
func (d *Device) wireHomeAssistant() {
	o := homeassistant.Options{
		Config: homeassistant.Resolve(d.cfg), ID: string(d.self), Name: d.cfg.Device.Name, Version: Version(), Model: d.cfg.Device.Board,
		Priced: d.cfg.Voice.Priced(),
		Ask:    control.Local(d.Control()).Do, Feed: d.feed, Picture: d.Picture, Conditions: d.conds, Log: d.log,
	}
	if dir := d.memory.Dir(); dir != "" {
		o.Note = filepath.Join(dir, homeAssistantNote)
	}
	o.URL = d.pageOfHouse()
	d.actors = append(d.actors, d.tended("homeassistant", func(ctx context.Context) error { return homeassistant.New(o).Run(ctx) }))
}

// pageOfHouse is where a browser of the house finds the page; empty: it is this machine's alone.
func (d *Device) pageOfHouse() string {
	host, port, err := net.SplitHostPort(d.cfg.Web.Listen)
	ip, names := net.ParseIP(host), hostNames()
	if err != nil || host == "localhost" || ip != nil && ip.IsLoopback() || len(names) == 0 {
		return ""
	}
	scheme := "http"
	if d.cfg.Web.Cert != "" || d.cfg.Web.Authority {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(names[len(names)-1], port) + "/"
}
