#!/usr/bin/env bash
# kernel.sh ARCH DIR: Debian 12's own kernel for ARCH in DIR (vmlinuz, modules/, busybox), with gpio-sim.ko made from its
# source package, because Debian builds none (vm/FACTS.md A).
#
# gpio-sim wants CONFIG_IRQ_SIM, which that kernel has not either: kernel/irq/irq_sim.c becomes part of the module. The one
# symbol it uses that modules may not is replaced by the exported function that does the same.
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh
arch=$1 out=$2
suite=bookworm # 6.1: the version Raspberry Pi OS has been on, and the last before the GPIO interface of old was switched off

case $arch in
arm64) cross=aarch64-linux-gnu- flavour=arm64 karch=arm64 ;;
amd64) cross='' flavour=amd64 karch=x86_64 ;;
*) die "no kernel for $arch" ;;
esac
[ "$(dpkg --print-architecture)" != "$arch" ] || cross=''

work=$(mktemp -d /var/tmp/kernel.XXXX) # kbuild takes no space in a path, and the checkout's may have one
trap 'rm -rf "$work" "$out.new"' EXIT

say "kernel for $arch: packages"
apt_for "$arch" "$suite" "$work/target"
apt_for "$(dpkg --print-architecture)" "$suite" "$work/host" # programs that run while building
export APT_CONFIG=$work/target/apt.conf
image=$(apt-cache depends "linux-image-$flavour" | awk '/Depends: linux-image-/ { print $2; exit }')
version=${image#linux-image-}
[ -n "$version" ] || die "linux-image-$flavour names no kernel"
abi=${version%-"$flavour"}
unpack "$work/target" "$image" "linux-headers-$version" "linux-headers-$abi-common" linux-source-6.1 busybox-static
unpack "$work/host" linux-kbuild-6.1

say "kernel $version: gpio-sim"
root=$work/target/root
mkdir "$work/source" "$work/module"
tar -xJf "$root"/usr/src/linux-source-6.1.tar.xz -C "$work/source" --strip-components=1 linux-source-6.1/drivers/gpio linux-source-6.1/kernel/irq
cp "$work"/source/drivers/gpio/gpiolib.h "$work/module/"
cp "$work"/source/drivers/gpio/gpio-sim.c "$work/module/gpio-sim-main.c"
sed 's/handle_simple_irq(irq_to_desc(irqnum));/generic_handle_irq(irqnum);/' "$work"/source/kernel/irq/irq_sim.c >"$work/module/irq_sim.c"
printf '%s\n' 'obj-m += gpio-sim.o' 'gpio-sim-y := gpio-sim-main.o irq_sim.o' >"$work/module/Kbuild"
headers=$root/usr/src/linux-headers-$version
kbuild=$(echo "$root"/usr/lib/linux-kbuild-*)
rm -rf "$kbuild"
mkdir -p "$root/usr/lib"
cp -a "$work"/host/root/usr/lib/linux-kbuild-* "$root/usr/lib/"
# The headers name their other halves by absolute paths.
find "$headers" "$root"/usr/src/linux-headers-*-common -maxdepth 1 -name Makefile -exec sed -i "s|\([^.]\)/usr/src|\1$root/usr/src|; s|^include /usr/src|include $root/usr/src|" {} +
for link in "$headers"/{scripts,tools} "$root"/usr/src/linux-headers-*-common/{scripts,tools}; do
	if [ -L "$link" ]; then ln -sfn "$(readlink "$link" | sed "s|^.*/linux-kbuild|$root/usr/lib/linux-kbuild|")" "$link"; fi
done
make -C "$headers" M="$work/module" ARCH="$karch" CROSS_COMPILE="$cross" CC="${cross}gcc" modules >"$work/log" 2>&1 ||
	{ tail -n 40 "$work/log" >&2; die "gpio-sim does not compile for $version"; }

# The few modules a guest needs, with what they depend on: 10 MB instead of 400.
install -D "$work/module/gpio-sim.ko" "$root/lib/modules/$version/extra/gpio-sim.ko"
depmod -b "$root" "$version"
mkdir -p "$out.new/modules/lib/modules/$version"
while read -r module; do
	modprobe --show-depends -d "$root" -S "$version" "$module" 2>/dev/null | awk '$1 == "insmod" { print $2 }' ||
		die "kernel $version has no module $module"
done < <(sed 's/#.*//' guest/modules | xargs -n 1) | sort -u | while read -r path; do
	relative=${path#"$root"}
	install -D "$path" "$out.new/modules$relative"
done
cp "$root/lib/modules/$version"/modules.{builtin,order,builtin.modinfo} "$out.new/modules/lib/modules/$version/"
find "$out.new/modules" -name '*.ko.xz' -exec xz -d {} +
depmod -b "$out.new/modules" "$version"
cp "$root/boot/vmlinuz-$version" "$out.new/vmlinuz"
cp "$root/bin/busybox" "$out.new/busybox"
echo "$version" >"$out.new/version"
mv "$out.new" "$out"
say "kernel $version: $(du -sh "$out" | cut -f 1)"
