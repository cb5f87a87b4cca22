package main

import (
	"fmt"

	"conch/device/join"
)

// roomIDCmd says which device this is.
type roomIDCmd struct{}

// Help is what conch room id --help says on top.
func (roomIDCmd) Help() string {
	return "The id goes to standard output; whose it is, that of the running appliance or of a conch that this user would run, to standard error."
}

func (roomIDCmd) Run(e *env) error {
	cfg, err := e.loadForClient()
	if err != nil {
		return err
	}
	id, whose, err := join.OwnID(e.ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.out, id)
	fmt.Fprintf(e.err, "conch: that is the id %s\n", whose)
	return nil
}

// roomACLCmd prints what a broker of one's own should allow.
type roomACLCmd struct{}

// Help is what conch room acl --help says on top.
func (roomACLCmd) Help() string {
	return "For a file that acl_file in mosquitto.conf names. Each device then reads the room and writes only what ends in its own id, " +
		"which is its client id; conch signs what it sends, so that a broker without such a list still cannot put words into anybody's mouth."
}

func (roomACLCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	text, err := join.RoomACL(cfg)
	if err != nil {
		return err
	}
	fmt.Fprint(e.out, text)
	return nil
}
