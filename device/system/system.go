// Package system is what systems do each in their own way: whom a file belongs to, a lock, a group of processes, changes of the network. The
// appliance's is Linux; on the others conch is built to be tried, and what they lack is an error that says so, or is left out.
package system

import "errors"

// Of Access: to write, and to go through.
const (
	Write = 2
	Pass  = 1
)

// ErrTaken is of a lock that another process has.
var ErrTaken = errors.New("another process has it locked")
