// Package schema holds the JSON Schema (draft-07) of every event of the Realtime protocol, generated from the official
// types, strictly: an unknown key or a missing one is an error. Tests on both ends of the wire judge themselves by it.
//
//	client.json   what a client may send      RealtimeClientEvent
//	server.json   what a server may send      RealtimeServerEvent
//
// The types describe absence, while the real service sends null for what is absent: drop nulls of a server's event
// before validating. Of a client's events only turn_detection and a few others may be null.
package schema

import _ "embed"

//go:generate ./generate.sh

// Client is the schema of the events a client sends.
//
//go:embed client.json
var Client []byte

// Server is the schema of the events a server sends.
//
//go:embed server.json
var Server []byte
