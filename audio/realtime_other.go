//go:build !linux

package audio

// realtime: only Linux lets a thread ask for itself; elsewhere the sound system has arranged it.
func realtime(uint32) int64 { return -1 }

func thread() int64 { return 0 }

func ordinary(int64) {}
