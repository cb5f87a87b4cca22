#!/usr/bin/env bash
# image.sh ARCH SUITE: makes the guest of the machine test, or finds it made, and prints the directory it is in:
#
#	vmlinuz initrd.img     the kernel of Debian 12 with gpio-sim, and a first program that mounts the disk (kernel.sh)
#	disk.img               a fresh Debian SUITE for ARCH: systemd, apt, ALSA, GPIO tools, the guest's agent; below /srv/apt
#	                       the packages conch wants beside it (rootfs.sh)
#	about                  what is in it
#
# ARCH is arm64, amd64 or armhf (which runs on the arm64 kernel, as 32-bit Raspberry Pi OS does on a Pi 3 and later).
# It is kept below $CONCH_VM_CACHE (build/vm), and so are the kernel and the packages it is made of, each under a name made
# of everything that decides what is in it, and the month: so it is made anew when a script changes and once a month. Older
# ones of the same ARCH and SUITE are removed.
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
rootfs=$cache/rootfs-$suite-$arch-$month-$(key lib.sh rootfs.sh)
image=$cache/$suite-$arch-$month-$(key lib.sh kernel.sh rootfs.sh image.sh $(find guest -type f | sort))
exec 9>"$cache/lock" # two at once would do all of it twice
flock -w 3600 9 || die "another image.sh holds $cache/lock for an hour"
if [ -e "$image/about" ]; then
	echo "$image"
	exit
fi
started=$SECONDS
rm -rf "$cache/$suite-$arch-"*
if [ ! -e "$kernel/version" ]; then
	rm -rf "$cache/kernel-$kernel_arch-"*
	timeout 1500 ./kernel.sh "$kernel_arch" "$kernel" >&2
fi
if [ ! -e "$rootfs/root.tar" ]; then
	rm -rf "$cache/rootfs-$suite-$arch-"*
	timeout 5000 ./rootfs.sh "$arch" "$suite" "$rootfs" >&2
fi

say "disk"
work=$image.new
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root" "$work/done" "$work/modules"
root=$work/root
tar -xf "$rootfs/root.tar" -C "$root" --numeric-owner
mkdir -p "$root/srv" "$root/share" "$root/lib/modules"
cp -r "$rootfs/apt" "$root/srv/apt"
# What kept the packages of the system small would leave parts of conch's out.
rm -f "$root/etc/dpkg/dpkg.cfg.d/99mmdebstrap"
mkdir -p "$root/usr/share/man/man1"
rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/var/lib/apt/lists/*Packages "$root"/var/lib/apt/lists/*Release
echo 'deb [trusted=yes] file:/srv/apt ./' >"$root/etc/apt/sources.list"
cp -a "$kernel/modules/." "$work/modules"
cp -a "$work/modules/lib/modules/." "$root/lib/modules/"
cp -a --no-preserve=ownership guest/etc/. "$root/etc/"
install -D -m 755 guest/pins "$root/usr/local/bin/pins"
wants() { mkdir -p "$root/etc/systemd/system/$2.wants" && ln -sf "$1" "$root/etc/systemd/system/$2.wants/"; }
wants /etc/systemd/system/vm-pins.service sysinit.target
wants /lib/systemd/system/systemd-networkd.service multi-user.target
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer e2scrub_all.timer e2scrub_reap.service getty.target; do
	ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
: >"$root/etc/machine-id"
truncate -s 1536M "$work/done/disk.img"
mkfs.ext4 -q -F -L root -m 0 -d "$root" "$work/done/disk.img"

mkdir -p "$work/initrd"/{bin,dev,proc,sys,root}
cp "$kernel/busybox" "$work/initrd/bin/"
cp guest/init "$work/initrd/init"
version=$(cat "$kernel/version")
for module in virtio_pci virtio_blk crc32c_generic ext4; do
	modprobe --show-depends -d "$work/modules" -S "$version" "$module" | sed -n 's/^insmod \(.*\.ko\).*/\1/p'
done | awk '!seen[$0]++' | while read -r path; do
	cp "$path" "$work/initrd/"
	echo "/$(basename "$path")"
done >"$work/order"
mv "$work/order" "$work/initrd/order"
(cd "$work/initrd" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/done/initrd.img"

ln "$kernel/vmlinuz" "$work/done/vmlinuz" 2>/dev/null || cp "$kernel/vmlinuz" "$work/done/vmlinuz"
{
	echo "Debian $suite $arch, kernel $version with gpio-sim"
	echo "offered to apt: $(tr '\n' ' ' <"$rootfs/offered")"
} >"$work/done/about"
mv "$work/done" "$image"
say "$image is made, in $((SECONDS - started)) s, $(du -sh "$image" | cut -f 1)"
echo "$image"
