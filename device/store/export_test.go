package store

import "time"

// CopyAfter has copies made that much behind a write.
func (d *DB) CopyAfter(delay time.Duration) { d.delay = delay }
