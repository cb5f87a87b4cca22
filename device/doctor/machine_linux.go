package doctor

import "golang.org/x/sys/unix"

// clockSynced asks the kernel (adjtimex(2)), whoever keeps the clock: chrony, timesyncd, ntpd. It changes nothing.
func clockSynced() (bool, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, err
	}
	return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, nil
}

func space(path string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Space{}, err
	}
	return Space{
		Free: s.Bavail * uint64(s.Bsize), Inodes: s.Files, Left: s.Ffree,
		ReadOnly:  s.Flags&unix.ST_RDONLY != 0,
		Temporary: uint32(s.Type) == unix.TMPFS_MAGIC || uint32(s.Type) == unix.RAMFS_MAGIC, // 32 bits, signed on some machines
	}, nil
}

func rtprio() (uint64, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_RTPRIO, &l)
	return l.Cur, err
}
