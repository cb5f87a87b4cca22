# The machine test: conch's package in a Debian guest on QEMU, with a GPIO chip, a sound card and systemd (systemd/vm/doc.go).
# The first run makes the guest (a few minutes, half a gigabyte in build/vm, or in CONCH_VM_CACHE), later ones find it made.

VM_ARCH  ?= arm64
VM_SUITE ?= bookworm
VM_TESTS ?= .
VM_LIMIT ?= 120m

# QEMU, and what puts the guest together. Of the cross compilers only the one for the guest's kernel is needed.
VM_NEEDS := \
	qemu-utils='command -v qemu-img' \
	mmdebstrap='command -v mmdebstrap' \
	dpkg-dev='command -v dpkg-scanpackages' \
	e2fsprogs='command -v mkfs.ext4 || test -x /usr/sbin/mkfs.ext4' \
	kmod='command -v depmod || test -x /usr/sbin/depmod' \
	cpio='command -v cpio' \
	xz-utils='command -v xz' \
	make='command -v make' \
	gcc-12='command -v gcc-12 || command -v gcc' \
	bc='command -v bc'
VM_NEEDS_arm64 := qemu-system-arm='command -v qemu-system-aarch64' gcc-aarch64-linux-gnu='command -v aarch64-linux-gnu-gcc' \
	qemu-user-static='command -v qemu-aarch64-static' arch-test='command -v arch-test'
VM_NEEDS_armhf := $(VM_NEEDS_arm64)
VM_NEEDS_amd64 := qemu-system-x86='command -v qemu-system-x86_64'

.PHONY: deps-vm
deps-vm: deps ## install what the machine test needs (QEMU, mmdebstrap)
	@$(call install,$(VM_NEEDS) $(REPO_NEEDS) $(VM_NEEDS_$(VM_ARCH)),The machine test cannot run without them.,1)

VM_GOARCH_arm64 := GOARCH=arm64
VM_GOARCH_armhf := GOARCH=arm GOARM=7
VM_GOARCH_amd64 := GOARCH=amd64

.PHONY: vm
vm: deps-vm build ## the machine test: the package in a guest with pins, a card and systemd; VM_ARCH, VM_SUITE, VM_TESTS
	@$(MAKE) package ARCHES=$(VM_ARCH) >&2
	@as_root=(); [ "$$(id -u)" = 0 ] || as_root=(sudo --preserve-env=CONCH_VM_CACHE,http_proxy,https_proxy,no_proxy); \
	image=$$("$${as_root[@]}" systemd/vm/image.sh $(VM_ARCH) $(VM_SUITE)); \
	out="$(CURDIR)"/build/vm-run/$(VM_SUITE)-$(VM_ARCH); mkdir -p "$$out"; \
	CGO_ENABLED=0 $(VM_GOARCH_$(VM_ARCH)) $(GO) build -trimpath -ldflags '-s -w' -o "$$out/hand" ./systemd/vm/hand; \
	CGO_ENABLED=0 $(GO) build -trimpath -o "$$out/door" ./systemd/vm/hand; \
	CGO_ENABLED=1 GOOS=linux $(TARGET_$(VM_ARCH)) $(GO) build -trimpath -ldflags '-s -w' -o "$$out/tone" ./systemd/vm/tone; \
	$(patsubst CC=%,%,$(filter CC=%,$(TARGET_$(VM_ARCH)))) -O2 -o "$$out/stall" device/benchtest/stall/stall.c; \
	cat "$$image/about"; \
	CONCH_VM_IMAGE=$$image CONCH_VM_ARCH=$(VM_ARCH) CONCH_VM_SUITE=$(VM_SUITE) CONCH_VM_OUT=$$out CONCH_VM_HAND=$$out/hand \
	CONCH_VM_DOOR=$$out/door CONCH_VM_TONE=$$out/tone CONCH_VM_STALL=$$out/stall CONCH_VM_CONCH="$(CURDIR)/bin/conch" CONCH_VM_DEB="$(CURDIR)"/$$(ls -t build/conch_*_$(VM_ARCH).deb | head -n 1) \
		$(GO) test -count=1 -v -timeout $(VM_LIMIT) -run '$(VM_TESTS)' ./systemd/vm 2>&1 | tee "$$out/test.log"

.PHONY: vm-ci
vm-ci: ## the part of it that every change must pass
	@$(MAKE) vm VM_TESTS='^Test(Installed|Talked|ListensAtOnce|ChipGone)$$'

.PHONY: vm-setup
vm-setup: ## the part of it that is a person's first ten minutes: from install.sh through conch setup to an answer that was heard
	@$(MAKE) vm VM_TESTS='^TestFirstTenMinutes$$'

.PHONY: vm-sound
vm-sound: ## the part of it that measures: press to silence on a card on USB and on the loopback, by what the card's side has recorded
	@$(MAKE) vm VM_TESTS='^Test(USB|Loopback)Silence$$'

.PHONY: vm-amd64
vm-amd64: ## the same on amd64
	@$(MAKE) vm VM_ARCH=amd64

.PHONY: vm-armhf
vm-armhf: ## the same on a 32-bit system (on the 64-bit kernel)
	@$(MAKE) vm VM_ARCH=armhf

.PHONY: vm-trixie
vm-trixie: ## the same on the next Debian
	@$(MAKE) vm VM_SUITE=trixie

.PHONY: vm-soak
vm-soak: ## a quarter of an hour of talk in a guest as small as a Pi Zero 2 W: does it grow?
	@CONCH_VM_SOAK=$${CONCH_VM_SOAK:-15m} $(MAKE) vm VM_TESTS='^TestGrowth$$'

.PHONY: vm-long
vm-long: vm vm-amd64 vm-armhf vm-trixie vm-soak ## the machine test on everything conch is packaged for
