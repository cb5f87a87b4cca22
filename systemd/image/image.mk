# A card for a Raspberry Pi with conch on it (systemd/image/IMAGE.md). The first run fetches a Debian into build/image.

IMAGE = build/release/conch_$(DEB_VERSION)_arm64.img.xz

IMAGE_NEEDS := \
	mmdebstrap='command -v mmdebstrap' \
	qemu-user-static='command -v qemu-aarch64-static' \
	arch-test='command -v arch-test' \
	fdisk='command -v sfdisk || test -x /usr/sbin/sfdisk' \
	e2fsprogs='command -v mkfs.ext4 || test -x /usr/sbin/mkfs.ext4' \
	dosfstools='command -v mkfs.vfat || test -x /usr/sbin/mkfs.vfat' \
	mtools='command -v mcopy' \
	xz-utils='command -v xz'
IMAGE_TEST_NEEDS := \
	qemu-system-arm='command -v qemu-system-aarch64' \
	openssh-client='command -v ssh-keygen' \
	tzdata='test -e /usr/share/zoneinfo/Europe/Berlin'
PACKAGE_SCRIPTS += $(addprefix systemd/image/,root build test files/usr/local/lib/conch/boot files/usr/local/lib/conch/grow)

.PHONY: image
image: ## a Raspberry Pi's card with Debian and conch: build/release/conch_VERSION_arm64.img.xz and its sum (root; ten minutes of processor once a month, two each time)
	@[ "$$(id -u)" = 0 ] || { echo "make: image: its files belong to many users, and so only root can make it: sudo make image" >&2; exit 1; }
	@$(call install,$(IMAGE_NEEDS),The image cannot be made without them.,1)
	@$(MAKE) package ARCHES=arm64 >&2
	@systemd/image/build build/conch_$(DEB_VERSION)_arm64.deb $(IMAGE)

.PHONY: test-image
test-image: ## look at the image, boot it as a Pi 3 as far as QEMU goes, and to its end as a plain machine (root, unless it is there)
	@$(call install,$(IMAGE_NEEDS) $(IMAGE_TEST_NEEDS),The image cannot be tried without them.,1)
	@[ -e $(IMAGE) ] || $(MAKE) image
	@mkdir -p build/host; $(GO) build -ldflags '-X conch/device.version=$(DEB_VERSION)' -o build/host/conch ./cmd/conch </dev/null >&2
	@CONCH="$(CURDIR)/build/host/conch" systemd/image/test $(IMAGE)
