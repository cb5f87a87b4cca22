//go:build !linux

package library

func idle() (end func()) { return func() {} }
