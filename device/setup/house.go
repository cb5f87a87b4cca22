package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"conch/device/config"
	"conch/device/homeassistant"
)

// usualBroker is where Home Assistant's own add-on has its broker.
const usualBroker = "homeassistant.local:1883"

// lookHouse says whether Home Assistant sees this device.
func lookHouse(w *wizard) (string, bool) {
	switch h := w.cfg.HomeAssistant; {
	case h.Discovery && h.Broker != "":
		return w.lang.Phrase("setup.house_broker", "address", h.Broker), true
	case h.Discovery:
		return w.lang.Phrase("setup.house_room"), true
	}
	return w.lang.Phrase("setup.house_none"), !w.cfg.Unset("homeassistant.discovery")
}

// askHouse asks for the broker of Home Assistant, and tries it before it is written.
func (w *wizard) askHouse(ctx context.Context) error {
	if w.Broker != "" {
		password, err := w.brokerPassword()
		if err != nil {
			return err
		}
		return w.setHouse(ctx, brokerOf(w.Broker), w.BrokerUser, password)
	}
	yes, err := w.yes(ctx, w.lang.Phrase("setup.house_ask"), false)
	if err != nil {
		return err
	}
	if !yes {
		text, _ := lookHouse(w)
		w.with(Unchanged, "%s", text)
		return nil
	}
	enter := w.cfg.HomeAssistant.Broker
	if enter == "" {
		enter = usualBroker
	}
	address := ""
	for address == "" {
		text, err := w.line(ctx, w.lang.Phrase("setup.house_address"), enter)
		if err != nil {
			return err
		}
		if _, err := w.Load(map[string]string{"homeassistant.broker": brokerOf(text)}); err != nil {
			w.say("  %v", err)
			continue
		}
		address = brokerOf(text)
	}
	name, err := w.line(ctx, w.lang.Phrase("setup.house_user"), w.cfg.HomeAssistant.User)
	if err != nil {
		return err
	}
	password := ""
	if name != "" {
		if password, err = w.hidden(ctx, w.lang.Phrase("setup.house_password")); err != nil {
			return err
		}
	}
	return w.setHouse(ctx, address, name, password)
}

// brokerOf makes the address of a broker of what a person types.
func brokerOf(text string) string {
	if strings.Contains(text, "://") {
		return text
	}
	return "mqtt://" + text
}

func (w *wizard) brokerPassword() (string, error) {
	if w.BrokerPasswordFrom == "" {
		return "", nil
	}
	return config.ReadSecret(w.BrokerPasswordFrom)
}

// setHouse tries a broker, and writes it: the password into a file of its own, first.
func (w *wizard) setHouse(ctx context.Context, address, name, password string) error {
	w.say("  %s", w.lang.Phrase("setup.trying"))
	trial, err := w.tryHouse(ctx, address, name, password)
	if err != nil {
		return err
	}
	if trial.Text == "" {
		w.say("  %s", w.lang.Phrase("setup.house_works", "address", address))
	} else {
		w.say("  %s", trial.Text)
		w.say("  %s", trial.Do)
		w.now.Do = trial.Do
		if w.nobody {
			return errors.New(trial.Text)
		}
		ok, err := w.yes(ctx, w.lang.Phrase("setup.write_anyway"), false)
		if err != nil {
			return err
		}
		if !ok {
			w.skip("%s", w.lang.Phrase("setup.not_written"))
			return nil
		}
	}
	edits := []config.Edit{{Key: "homeassistant.discovery", Value: "true"}, {Key: "homeassistant.broker", Value: config.Quote(address)}}
	if name != w.cfg.HomeAssistant.User {
		edits = append(edits, config.Edit{Key: "homeassistant.user", Value: config.Quote(name)})
	}
	if password != "" && !w.dry() {
		path := passwordFile(w.cfg)
		if err := storePassword(w, path, password); err != nil {
			return err
		}
		edits = append(edits, config.Edit{Key: "homeassistant.password_file", Value: config.Quote(path)})
	}
	if _, err := w.set(ctx, edits); err != nil {
		return err
	}
	if w.now.State != Skipped {
		text, _ := lookHouse(w)
		w.with(w.now.State, "%s", text)
	}
	return nil
}

// tryHouse connects once, as the appliance would.
func (w *wizard) tryHouse(ctx context.Context, address, name, password string) (t homeassistant.Trouble, err error) {
	h := w.cfg.HomeAssistant
	h.Broker, h.User = address, name
	if password != "" {
		f, err := os.CreateTemp("", "conch-*") // mode 0600
		if err != nil {
			return t, fmt.Errorf("setup: %w", err)
		}
		defer os.Remove(f.Name())
		_, err = f.WriteString(password)
		if err = errors.Join(err, f.Close()); err != nil {
			return t, fmt.Errorf("setup: %w", err)
		}
		h.PasswordFile = f.Name()
	}
	t = homeassistant.Try(ctx, h)
	if ctx.Err() != nil {
		return t, errLeft
	}
	return t, nil
}

// passwordFile is where the password goes: beside the configuration.
func passwordFile(cfg config.Config) string {
	if cfg.HomeAssistant.PasswordFile != "" {
		return cfg.HomeAssistant.PasswordFile
	}
	path := cfg.File
	if path == "" {
		path = newConfig()
	}
	return filepath.Join(filepath.Dir(path), "homeassistant.password")
}

// serviceUser is who the installed service runs as.
const serviceUser = "conch"

// storePassword writes it for the service alone, where there is one, or for whoever runs setup.
func storePassword(w *wizard, path, password string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := StoreKey(path, password, w.lang); err != nil {
		return err
	}
	if u, err := user.Lookup(serviceUser); err == nil && os.Getuid() == 0 {
		uid, err := strconv.Atoi(u.Uid)
		if err == nil {
			err = os.Chown(path, uid, -1)
		}
		if err != nil {
			return err
		}
	}
	w.now.Files = append(w.now.Files, path)
	w.say("  %s", w.lang.Phrase("setup.house_stored", "file", path))
	return nil
}
