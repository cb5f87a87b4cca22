//go:build !linux

package doctor

import "errors"

var errNotLinux = errors.New("only Linux tells")

func clockSynced() (bool, error)  { return false, errNotLinux }
func space(string) (Space, error) { return Space{}, errNotLinux }
func rtprio() (uint64, error)     { return 0, errNotLinux }
