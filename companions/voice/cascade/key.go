package cascade

import (
	"conch/companions/voice"
	"conch/companions/voice/kit"
)

// key is what a server is asked with, and where people find it.
type key struct {
	from  string // "": there is none, and that is where it would be
	unset string
	read  func() (string, error)
}

// ownKey is where the key of the voice's own host comes from.
const ownKey = "the voice's (conch key)"

// keyOf is the key of a stage: its own, else that of the voice where it goes to the same host. No key goes anywhere else.
func (cfg *Config) keyOf(t target, stage string, own voice.Secret) key {
	switch {
	case stage != "" && own.Read != nil:
		return key{from: own.From, read: own.Read}
	case t.url.Scheme == cfg.chat.url.Scheme && t.url.Host == cfg.chat.url.Host:
		return key{from: ownKey, read: func() (string, error) { return cfg.Key(), nil }}
	}
	return key{unset: "voice." + stage + "_key_file"}
}

// now is the key; "": there is none, or it cannot be read.
func (k key) now() string {
	if k.read == nil {
		return ""
	}
	s, err := k.read()
	if err != nil {
		return ""
	}
	return s
}

// String says where it comes from.
func (k key) String() string {
	if k.from == "" {
		return "no key goes there; " + k.unset + " would hold it"
	}
	return "its key is " + k.from
}

// keyless is the refusal of a server that wants a key, where it was given none.
type keyless struct {
	*kit.RefusalError
	host   string
	secret key
}

func (k *keyless) Unwrap() error { return k.RefusalError }
func (k *keyless) Error() string {
	why := "it wants a key, and there is none"
	if k.secret.from != "" && k.secret.from != ownKey {
		why = "it wants a key, and " + k.secret.from + " cannot be read or is empty"
	}
	return why + ": " + k.RefusalError.Error()
}

// do is how to give it one.
func (k *keyless) do() string {
	switch k.secret.from {
	case ownKey:
		return "give " + k.host + " its key: sudo conch key; it is read again by itself"
	case "":
		return "put the key of " + k.host + " into a file of mode 0600, and name it: " + k.secret.unset
	}
	return "put the key of " + k.host + " where it is looked for, mode 0600: " + k.secret.from + "; it is read again by itself"
}

// planned says which it will be, whether it can be read here or not.
func (k key) planned() string {
	switch {
	case k.from == "", k.from == ownKey && k.now() == "":
		return "no key"
	}
	return "key: " + k.from
}

// keys are all that are used, to see whether somebody has changed one.
func (c *Client) keys() string {
	all := c.cfg.Key()
	for _, own := range []voice.Secret{c.cfg.EarKey, c.cfg.MouthKey} {
		all += " " + key{read: own.Read}.now()
	}
	return all
}
