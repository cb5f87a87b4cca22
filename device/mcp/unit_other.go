//go:build !linux

package mcp

import (
	"context"
	"errors"
	"os"
)

var errNoUnits = errors.New("only systemd has units, and it is Linux's: unset " + Socket)

// strict: nobody but systemd has it so.
func strict() bool { return false }

func (c *child) inUnit(string, request, ...*os.File) error { return errNoUnits }

// Serve would be the process of a unit.
func Serve(context.Context, *os.File) error { return errNoUnits }
