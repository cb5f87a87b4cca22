# Shared by the tests that live in a Debian of their own, with systemd as its first process and without a network
# (systemd-nspawn). boot SUITE makes it, in $root; $work is removed at the end, and so is what runs.
# shellcheck shell=bash disable=SC2016,SC2034 # what is in single quotes is for the shell inside; others read these

# What apt, dpkg and systemd keep about every package that ever was is no trace of this one.
list='find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /root -o -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/backups -o -path "/var/tmp/systemd-private-*" \) -prune -o -print | grep -vE "^/etc/.*-$|^/var/lib/systemd/(catalog|timers)|/deb-systemd-(helper|user)[^/]*$" | sort; getent passwd; getent group; ls /var/lib/dpkg/info; systemctl list-unit-files --no-legend "conch*" || true'

work='' leader='' failed=0
beside=() # processes that end with it

ended() {
	[ -z "$leader" ] || kill -9 "$leader" 2>/dev/null || true
	[ ${#beside[@]} = 0 ] || kill "${beside[@]}" 2>/dev/null || true
	[ -z "${nspawn:-}" ] || wait "$nspawn" 2>/dev/null || true
	rm -rf "$work" "/run/systemd/nspawn/propagate/conch-$$"
}

boot() {
	local suite=$1 sound base
	case $suite in bookworm) sound=libasound2 ;; *) sound=libasound2t64 ;; esac
	base=$(systemd/package/debian "$suite" systemd systemd-sysv udev dbus ca-certificates man-db $sound)
	work=$(mktemp -d)
	trap ended EXIT
	root=$work/root
	mkdir "$root"
	tar -C "$root" -xf "$base"
	echo conch-test >"$root/etc/hostname"

	systemd-nspawn --quiet --register=no --keep-unit --machine="conch-$$" -D "$root" -b --private-network --console=pipe --system-call-filter="seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self" </dev/null >"$work/console" 2>&1 &
	nspawn=$!
	for _ in $(seq 200); do
		leader=$(pgrep -P "$nspawn" | head -n 1 || true)
		[ -z "$leader" ] || [ ! -e "$root/run/systemd/private" ] || break
		sleep 0.1
	done
	echo "   a Debian made, and begun (${SECONDS} s)"
	[ -n "$leader" ] || { cat "$work/console"; exit 1; }
	until_so 60 "systemd runs" 'case $(systemctl is-system-running) in running | degraded) ;; *) false ;; esac'
	echo "   $(inside 'systemctl --version | head -n 1'), $(inside '. /etc/os-release; echo "$PRETTY_NAME"')"
}

# inside COMMAND: in the Debian, as root.
inside() { nsenter -t "$leader" -a env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C DEBIAN_FRONTEND=noninteractive bash -c "$1" </dev/null; }
# until_so SECONDS WHAT COMMAND
until_so() {
	local end=$((SECONDS + $1))
	until inside "$3" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { no "$2: not after $1 s"; return 0; }
		sleep 0.3 # somebody else's process is watched
	done
}
no() {
	echo "  FAILED: $*"
	failed=1
	inside 'systemctl status --no-pager -n 15 conch.service' | sed 's/^/    /' || true
}
so() { inside "$2" >/dev/null 2>&1 || no "$1"; }
is() {
	local got
	got=$(inside "$2" 2>&1) || true
	[ "$got" = "$3" ] || no "$1: $got; want $3"
}
step() { echo "== $* (${SECONDS} s)"; }
