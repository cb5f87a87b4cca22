package config

import "net"

// DefaultWebListen is where the page is, unless somebody says otherwise: next to the ports of pairing and of calls.
const DefaultWebListen = "127.0.0.1:7485"

// Web is the page: to look at the device and its room, and to talk to them from a browser.
type Web struct {
	Listen    string // HOST:PORT; empty: there is no page
	Talk      bool   // a page may be another microphone, loudspeaker and button of this device
	Cert      string // file; with Key, encrypts the page where it is reached over a network
	Key       string
	Authority bool // or a certificate authority of this device's own does
}

// TalkWithoutCard says that pages talk where the device has no sound card: web.talk is not set, and the page is on this machine alone.
func (c *Config) TalkWithoutCard() bool {
	host, _, err := net.SplitHostPort(c.Web.Listen)
	return err == nil && loopback(host) && c.Unset("web.talk")
}

// HomeAssistant is how Home Assistant, or whoever speaks its convention, sees the device over MQTT.
type HomeAssistant struct {
	Discovery    bool
	Broker       string // URL; empty: room.broker, where that is one of the house
	User         string
	PasswordFile string
	CAFile       string
	Prefix       string // of its topics
	MayListen    bool   // it may open the microphone: begin a question, lift a mute
}
