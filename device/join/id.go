package join

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"conch/companions/round"
	"conch/device/config"
	"conch/device/control"
	"conch/device/state"
	"conch/mqtt"
	"conch/mqtt/membership"
)

// Whose is a device's id, for conch room id: where an appliance runs it says so itself, for who asks may be another user with a
// state of his own.

// OwnID is the id of the device that is meant, and in words whose it is: that of the running appliance; else the service's, where
// that is installed and nobody says otherwise; else that of this configuration, made if it has none yet.
func OwnID(ctx context.Context, cfg config.Config) (id round.DeviceID, whose string, err error) {
	if r, err := control.Dial(cfg); err == nil && (cfg.Unset("state.dir") || !cfg.Unset("state.runtime")) { // or it is another one's socket
		var s control.Status
		if err := r.Do(ctx, "GET", "/status", nil, &s); err != nil {
			return "", "", err
		}
		if s.Device == "" {
			return "", "", errors.New("the running appliance has no id (see: conch doctor)")
		}
		return s.Device, "of the running appliance, at " + r.Path, nil
	}
	if cfg.Unset("state.dir") && cfg.State.Dir != serviceState {
		switch id, err := mqtt.ReadIdentity(serviceState); {
		case err == nil:
			return id.ID(), "of the service, which does not run, in " + serviceState, nil
		case errors.Is(err, fs.ErrPermission):
			return "", "", fmt.Errorf("the service is installed and does not run, and this user may not read its id (sudo conch room id): %s", serviceState)
		}
	}
	_, err = os.Stat(cfg.State.Dir)
	made := errors.Is(err, fs.ErrNotExist)
	s, err := state.Open(cfg.State.Dir)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	own, err := mqtt.OpenIdentity(s.Dir)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	whose = "of a conch that this user runs, in " + cfg.State.Dir
	if made {
		whose += "; made just now"
	}
	return own.ID(), whose, nil
}

// serviceState is the state directory of the shipped unit (StateDirectory).
const serviceState = "/var/lib/conch"

// RoomACL is an access list for a Mosquitto that the devices of this configuration's room meet at.
func RoomACL(cfg config.Config) (string, error) {
	text, err := membership.MosquittoACL(cfg.Room.Name)
	if err != nil {
		return "", fmt.Errorf("%w: config: room.name: %w", control.ErrRefused, err)
	}
	return text, nil
}
