#!/usr/bin/env bash
# image.sh ARCH SUITE: makes the guest of the machine test, or finds it made, and prints the directory it is in:
#
#	vmlinuz initrd.img     the kernel of Debian 12 with gpio-sim, and a first program that mounts the disk
#	disk.img               a fresh Debian SUITE for ARCH: systemd, apt, ALSA, GPIO tools, the guest agent; below /srv/apt the
#	                       packages conch wants beside it, because the guest has no network to fetch them from
#	about                  what is in it
#
# ARCH is arm64, amd64 or armhf (which runs on the arm64 kernel, as 32-bit Raspberry Pi OS does on a Pi 3 and later).
# It is kept below $CONCH_VM_CACHE (build/vm), under a name made of everything that decides what is in it and the month,
# so that it is made anew when a script changes and once a month. Older ones of the same ARCH and SUITE are removed.
#
# Needs root (a root file system has files of many owners) and what `make deps-vm` installs.
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh
arch=${1:?which architecture: arm64, amd64 or armhf} suite=${2:?which suite: bookworm or trixie}
cache=${CONCH_VM_CACHE:-$(cd ../.. && pwd)/build/vm}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
[ "$(id -u)" = 0 ] || die "the guest's files belong to many users: run this as root (sudo make vm)"

case $arch in
arm64 | amd64) kernel_arch=$arch ;;
armhf) kernel_arch=arm64 ;;
*) die "no guest for $arch: arm64, amd64 or armhf" ;;
esac

key() { { cat "$@" && find /etc/apt/sources.list* -type f -exec cat {} +; } | sha256sum | cut -c 1-8; }
month=$(date -u +%Y%m)
kernel=$cache/kernel-$kernel_arch-$month-$(key lib.sh kernel.sh guest/modules)
image=$cache/$suite-$arch-$month-$(key lib.sh kernel.sh image.sh $(find guest -type f | sort))
exec 9>"$cache/lock" # two at once would do all of it twice
flock -w 3600 9 || die "another image.sh holds $cache/lock for an hour"
if [ -e "$image/about" ]; then
	echo "$image"
	exit
fi
started=$SECONDS
find "$cache" -maxdepth 1 \( -name "$suite-$arch-*" -o -name "kernel-$kernel_arch-*.new" -o -name '*.kernel.*' \) -exec rm -rf {} +
if [ ! -e "$kernel/version" ]; then
	rm -rf "$cache/kernel-$kernel_arch-"*
	timeout 1500 ./kernel.sh "$kernel_arch" "$kernel" >&2
fi

work=$image.new
trap 'rm -rf "$work"; forget' EXIT
mkdir -p "$work"

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
host=$(dpkg --print-architecture)
case $host-$arch in
amd64-arm64) emulate qemu-aarch64 ;;
amd64-armhf) emulate qemu-arm ;;
arm64-amd64) emulate qemu-x86_64 ;;
esac

# What a Raspberry Pi OS Lite has that matters here, without its weight.
packages=systemd,systemd-sysv,udev,dbus,kmod,apt,alsa-utils,gpiod,iproute2,qemu-guest-agent,procps,psmisc,libpam-systemd,ca-certificates
# What conch's package may ask apt for, recommendations included; a name that the suite does not know is left out. That all
# that is needed is here shows when the package is installed.
offered=(libasound2 libasound2t64 flite pocketsphinx pocketsphinx-en-us espeak-ng adduser init-system-helpers libnss-systemd)
sources "$suite" "$work/sources"

root_file_system() {
	local which=$1
	rm -f "$work/root.tar"
	mkdir -p "$work/debs"
	local -a from=("$work"/sources/*)
	if [ "$which" = main ]; then # the index of an update suite may be half replaced: the release itself never is
		mkdir -p "$work/main"
		sed -E "/^Suites:/s/.*/Suites: $suite/" "$work"/sources/*.sources >"$work/main/main.sources"
		from=("$work/main/main.sources")
	fi
	timeout 1500 mmdebstrap --quiet --mode=root --variant=minbase --architectures="$arch" --include="$packages" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-include=/usr/share/doc/conch/*' --dpkgopt='path-include=/usr/share/man/man1/conch*' \
		--aptopt='Acquire::Retries "3"' --aptopt='Acquire::Languages "none"' \
		--customize-hook="for p in ${offered[*]}; do if APT_CONFIG=\$MMDEBSTRAP_APT_CONFIG apt-cache show \$p >/dev/null 2>&1; then echo \$p; fi; done >'$work/offered'" \
		--customize-hook="APT_CONFIG=\$MMDEBSTRAP_APT_CONFIG apt-get install -qq -y --download-only --no-install-recommends -o Dir::Cache::archives='$work/debs' \$(cat '$work/offered') >/dev/null" \
		"$suite" "$work/root.tar" "${from[@]}" >&2
}
say "Debian $suite for $arch"
mkdir -p "$work/debs/partial"
root_file_system all || { sleep 20; root_file_system all; } || { say "taking the release alone, without its updates"; root_file_system main; } ||
	die "Debian $suite for $arch could not be put together"

say "disk"
mkdir "$work/root"
tar -xf "$work/root.tar" -C "$work/root" --numeric-owner
root=$work/root
mkdir -p "$root/srv/apt"
find "$work/debs" -maxdepth 1 -name '*.deb' -exec cp {} "$root/srv/apt/" \;
(cd "$root/srv/apt" && dpkg-scanpackages --multiversion . 2>/dev/null >Packages)
rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/var/lib/apt/lists/*Packages "$root"/var/lib/apt/lists/*Release
echo 'deb [trusted=yes] file:/srv/apt ./' >"$root/etc/apt/sources.list"
cp -a "$kernel/modules/." "$work/modules"
mkdir -p "$root/lib/modules"
cp -a "$work/modules/lib/modules/." "$root/lib/modules/"
cp -a --no-preserve=ownership guest/etc/. "$root/etc/"
install -D -m 755 guest/pins "$root/usr/local/lib/vm/pins"
ln -sf /etc/systemd/system/vm-pins.service "$root/etc/systemd/system/sysinit.target.wants/"
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer e2scrub_all.timer e2scrub_reap.service getty.target; do
	ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -sf /lib/systemd/system/systemd-networkd.service "$root/etc/systemd/system/multi-user.target.wants/"
: >"$root/etc/machine-id"
mkdir -p "$root/share"
truncate -s 1536M "$work/disk.img"
mkfs.ext4 -q -F -L root -m 0 -d "$root" "$work/disk.img"

mkdir -p "$work/initrd"/{bin,dev,proc,sys,root}
cp "$kernel/busybox" "$work/initrd/bin/"
cp guest/init "$work/initrd/init"
version=$(cat "$kernel/version")
for module in virtio_pci virtio_blk crc32c_generic ext4; do
	modprobe --show-depends -d "$work/modules" -S "$version" "$module" | awk '$1 == "insmod" { print $2 }'
done | awk '!seen[$0]++' | while read -r path; do
	cp "$path" "$work/initrd/"
	echo "/$(basename "$path")"
done >"$work/order"
mv "$work/order" "$work/initrd/order"
(cd "$work/initrd" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initrd.img"

mkdir "$work/done"
mv "$work"/{disk.img,initrd.img} "$work/done/"
ln "$kernel/vmlinuz" "$work/done/vmlinuz" 2>/dev/null || cp "$kernel/vmlinuz" "$work/done/vmlinuz"
{
	echo "Debian $suite $arch, kernel $version with gpio-sim"
	echo "offered to apt: $(tr '\n' ' ' <"$work/offered")"
} >"$work/done/about"
mv "$work/done" "$image"
say "$image is made, in $((SECONDS - started)) s, $(du -sh "$image" | cut -f 1)"
echo "$image"
