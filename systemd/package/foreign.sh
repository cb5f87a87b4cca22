# Shared by what runs programs of another architecture: the kernel is told what runs them, and told to forget it again, because
# other tests want to see that it does not. Each tells it under a name of its own: what one takes back another may still need.
# shellcheck shell=bash

told=''
emulate() { # ARCH, as Debian calls it
	local name
	case $(dpkg --print-architecture)-$1 in
	amd64-arm64) name=qemu-aarch64 ;;
	amd64-armhf) name=qemu-arm ;;
	arm64-amd64) name=qemu-x86_64 ;;
	*) return 0 ;;
	esac
	[ -e /proc/sys/fs/binfmt_misc/register ] || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc ||
		{ echo "${0##*/}: this kernel runs no programs of other architectures (no binfmt_misc)" >&2; exit 1; }
	sed "s/^:$name:/:$name-$$:/" "/usr/lib/binfmt.d/$name.conf" >/proc/sys/fs/binfmt_misc/register
	told=/proc/sys/fs/binfmt_misc/$name-$$
}
forget() { [ -z "$told" ] || echo -1 >"$told" || true; }
