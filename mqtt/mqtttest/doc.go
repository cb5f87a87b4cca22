// Package mqtttest is the world around a room's MQTT in tests and rehearsals: Mosquitto, a broker that nobody here wrote, as
// a process of its own, and a TCP proxy that stands for the cable between a device and its broker.
//
//	device ──> Proxy ──> broker        Cut, Freeze, Reset, delay, stalls; Heal
//
// Nothing here is part of the appliance, and nothing imports testing: a rehearsal may use the proxy.
package mqtttest

// TB is the part of testing.TB that is used here.
type TB interface {
	Helper()
	Cleanup(func())
	TempDir() string
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}
