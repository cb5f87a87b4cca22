#!/usr/bin/env bash
# rootfs.sh ARCH SUITE DIR: a fresh Debian SUITE for ARCH in DIR: root.tar, and in apt/ the packages that conch wants beside
# it, because a guest has no network to fetch them from.
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh
arch=$1 suite=$2 out=$3

# What a Raspberry Pi OS Lite has that matters here, without its weight.
packages=systemd,systemd-sysv,udev,dbus,kmod,apt,alsa-utils,gpiod,iproute2,qemu-guest-agent,procps,psmisc,libpam-systemd,ca-certificates
# What conch's package may ask apt for, recommendations included; a name that the suite does not know is left out. That all
# that is needed is here shows when the package is installed.
offered=(libasound2 libasound2t64 flite pocketsphinx pocketsphinx-en-us espeak-ng adduser init-system-helpers libnss-systemd)

work=$out.new
rm -rf "$work"
trap 'rm -rf "$work"; forget' EXIT
mkdir -p "$work/apt"

# Programs of another architecture are run by qemu-user while packages are configured; the kernel is told so, and told to
# forget it again, because other tests want to see that a foreign program does not run.
told=''
emulate() {
	local name=$1
	[ -e /proc/sys/fs/binfmt_misc/register ] || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc ||
		die "this kernel runs no programs of other architectures (no binfmt_misc): the guest for $arch cannot be made here"
	[ ! -e "/proc/sys/fs/binfmt_misc/$name" ] || return 0
	cat "/usr/lib/binfmt.d/$name.conf" >/proc/sys/fs/binfmt_misc/register
	told=/proc/sys/fs/binfmt_misc/$name
}
forget() { [ -z "$told" ] || echo -1 >"$told" || true; }
case $(dpkg --print-architecture)-$arch in
amd64-arm64) emulate qemu-aarch64 ;;
amd64-armhf) emulate qemu-arm ;;
arm64-amd64) emulate qemu-x86_64 ;;
esac

sources "$suite" "$work/sources"

# With "release", the release alone: the index of its updates may be half replaced, its own never is.
make_root() {
	rm -rf "$work/root.tar" "$work/debs"
	mkdir -p "$work/debs/partial"
	local -a from=("$work"/sources/*)
	if [ "${1-}" = release ]; then
		mkdir -p "$work/release"
		local f
		for f in "$work"/sources/*; do
			case $f in
			*.sources) awk -v RS= -v ORS='\n\n' -v suite="$suite" '
				$0 ~ "(^|\n)Suites:([^\n]*[ \t])?" suite "([ \t\n]|$)" { sub(/Suites:[^\n]*/, "Suites: " suite); print }' ;;
			*) awk -v suite="$suite" '{ for (i = 1; i <= NF; i++) if ($i == suite) { print; next } }' ;;
			esac <"$f" >"$work/release/$(basename "$f")"
		done
		find "$work/release" -empty -delete
		from=("$work"/release/*)
	fi
	timeout 1500 mmdebstrap --quiet --mode=root --variant=minbase --architectures="$arch" --include="$packages" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--aptopt='Acquire::Retries "3"' --aptopt='Acquire::Languages "none"' \
		--customize-hook="for p in ${offered[*]}; do if APT_CONFIG=\$MMDEBSTRAP_APT_CONFIG apt-cache show \$p >/dev/null 2>&1; then echo \$p; fi; done >'$work/offered'" \
		--customize-hook="APT_CONFIG=\$MMDEBSTRAP_APT_CONFIG apt-get install -qq -y --download-only --no-install-recommends -o Dir::Cache::archives='$work/debs' \$(cat '$work/offered') >/dev/null" \
		"$suite" "$work/root.tar" "${from[@]}" >&2
}
say "Debian $suite for $arch"
make_root || { sleep 20; make_root; } || { say "taking the release alone, without its updates"; make_root release; } ||
	die "Debian $suite for $arch could not be put together"
find "$work/debs" -maxdepth 1 -name '*.deb' -exec mv {} "$work/apt/" \;
(cd "$work/apt" && dpkg-scanpackages --multiversion . 2>/dev/null >Packages)
rm -rf "$work"/{debs,sources,release}
mv "$work" "$out"
