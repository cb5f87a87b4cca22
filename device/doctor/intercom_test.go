package doctor

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"conch/device/config"
)

// The port of calls: free, somebody's, ours.
func TestDoctorOfTheIntercom(t *testing.T) {
	room := func(port int) config.Config {
		cfg := config.Default()
		cfg.State.Dir, cfg.Room.Broker, cfg.Intercom.Port = t.TempDir(), "mqtt://127.0.0.1:1", port
		return cfg
	}
	look := func(m *Machine, cfg config.Config) Diagnosis {
		d := Diagnosis{Findings: checkIntercom(t.Context(), m, &Subject{Config: &cfg})}
		for i := range d.Findings {
			d.Findings[i].Check = "intercom"
		}
		troubles(t, d)
		return d
	}
	m := Real()
	m.Root = t.TempDir() // its /proc is the test's

	alone := room(7484)
	alone.Room.Broker = ""
	says(t, look(m, alone), "intercom", OK, "off: this device is in no room", "", "")
	off := room(7484)
	off.Intercom.Enabled = false
	says(t, look(m, off), "intercom", OK, "intercom.enabled = false", "", "")

	tcp, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	port := tcp.Addr().(*net.TCPAddr).Port
	says(t, look(m, room(port)), "intercom", Warn, fmt.Sprintf("intercom.port = %d: TCP is in use by a program that cannot be seen", port), "any other port", "sudo conch doctor")
	says(t, look(Real(), room(port)), "intercom", Warn, fmt.Sprintf("TCP is in use by %q", own(t)), "a firewall may not let in", "set intercom.port")
	if err := os.MkdirAll(filepath.Join(m.Root, "proc/613/fd"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) {
		path := filepath.Join(m.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	file("proc/net/tcp6", head+fmt.Sprintf("   0: 00000000000000000000000000000000:%04X 00000000000000000000000000000000:0000 0A 0:0 0:0 0 997 0 4711 1\n", port))
	file("proc/613/comm", "conch\n")
	if err := os.Symlink("socket:[4711]", filepath.Join(m.Root, "proc/613/fd/9")); err != nil {
		t.Fatal(err)
	}
	says(t, look(m, room(port)), "intercom", OK, "somebody calls from here", "", "")
	file("proc/net/tcp6", head+fmt.Sprintf("   0: 00000000:%04X 00000000:1F90 01 0:0 0:0 0 997 0 4711 1\n", port)) // a connection is no listener
	says(t, look(m, room(port)), "intercom", Warn, "cannot be seen", "", "")
	_ = tcp.Close()

	udp, err := net.ListenUDP("udp", &net.UDPAddr{Port: port})
	if err != nil {
		t.Fatal(err)
	}
	says(t, look(Real(), room(port)), "intercom", Warn, "UDP is in use by", "", "set intercom.port")
	_ = udp.Close()
	says(t, look(Real(), room(port)), "intercom", OK, fmt.Sprintf("port %d is free, TCP and UDP: nothing listens there", port), "", "")
}

// own is what this process is called.
func own(t *testing.T) string {
	t.Helper()
	return Real().say("/proc/self/comm")
}
