# conch: `make` alone lists what most people need, `make help` all that there is to do.
#
# Standard output belongs to the program that `make run` starts: whatever building and installing have to say goes to
# standard error, and both read nothing from standard input, so that `printf 'ask what time is it\n' | make run` works.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := first

GO       ?= go
ARGS     ?=
FUZZTIME ?= 60s
QUICK    ?= ./audio/cue ./audio/twin ./audio/wav ./companions/round ./companions/skills/... ./companions/talk ./companions/words ./coordinator/focus ./coordinator/turn ./device/bench ./device/benchtest/... ./device/condition ./device/config ./device/control ./device/doctor ./device/service ./device/setup ./device/state ./device/testlog ./gpio ./gpio/light ./gpio/twin ./mqtt/cpace
PKG      ?= ./...
# Their tests keep real time, and have the machine to themselves.
TIMED    := ./device ./audio ./cmd/conch ./mqtt ./coordinator
BENCH    ?= .
PICTURE  ?= build/silence.svg
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# The linter's version is exact: a newer one has other opinions, and then the same commit is green today and red tomorrow.
LINT_VERSION := 2.15.0
LINT         := bin/tools/golangci-lint

# HTTP/2 is half a megabyte of the program, and whoever conch speaks with speaks HTTP/1.1 as well.
TAGS := nethttpomithttp2

# What must be there, as package=check. A check is a shell condition that costs nothing; only what fails is installed.
BUILD_NEEDS := \
	ca-certificates='test -s /etc/ssl/certs/ca-certificates.crt || test -s /etc/pki/tls/certs/ca-bundle.crt || test -s /etc/ssl/cert.pem' \
	gcc='command -v gcc || command -v cc' \
	libc6-dev='echo "\#include <stdio.h>" | cc -E -'
VOICE_NEEDS := \
	flite='command -v flite' \
	pocketsphinx='command -v pocketsphinx_continuous || command -v pocketsphinx' \
	pocketsphinx-en-us='dpkg -s pocketsphinx-en-us || ls -d /usr/share/pocketsphinx/model/en-us' \
	espeak-ng='command -v espeak-ng'
TEST_NEEDS := \
	git='command -v git' \
	pulseaudio='command -v pulseaudio' \
	pulseaudio-utils='command -v pactl' \
	sox='command -v sox' \
	lame='command -v lame' \
	flac='command -v flac' \
	vorbis-tools='command -v oggenc' \
	opus-tools='command -v opusenc' \
	ffmpeg='command -v ffmpeg' \
	icecast2='command -v icecast2' \
	libasound2-dev='ls /usr/include/alsa/pcm_external.h' \
	alsa-utils='command -v aplay' \
	nodejs='command -v node' \
	npm='command -v npm' \
	openssl='command -v openssl' \
	tmux='command -v tmux' \
	mosquitto='command -v mosquitto || test -x /usr/sbin/mosquitto' \
	mosquitto-clients='command -v mosquitto_pub' \
	iproute2='command -v ip' \
	dbus='command -v dbus-daemon' \
	avahi-daemon='command -v avahi-daemon || test -x /usr/sbin/avahi-daemon' \
	stress-ng='command -v stress-ng'

WEB_NEEDS := \
	chromium='command -v chromium'

# A player, only to compare with, and a browser, in which the page is measured.
BENCH_NEEDS := \
	mpv='command -v mpv' \
	$(WEB_NEEDS)

# $(call install,NEEDS,what happens without them,status when something stays missing)
define install
missing=(); \
check() { ( eval "$${1#*=}" ) </dev/null >/dev/null 2>&1; }; \
needs=($(1)); \
for need in "$${needs[@]}"; do check "$$need" || missing+=("$${need%%=*}"); done; \
[ "$${#missing[@]}" -gt 0 ] || exit 0; \
as_root=(); [ "$$(id -u)" = 0 ] || as_root=(sudo); \
if ! command -v apt-get >/dev/null; then \
	echo "make: missing: $${missing[*]}. This is not a Debian system: install them by its own means. $(2)" >&2; exit $(3); \
fi; \
if [ "$$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then \
	echo "make: missing: $${missing[*]}. As root: apt-get install $${missing[*]}. $(2)" >&2; exit $(3); \
fi; \
echo "make: installing $${missing[*]}$${as_root:+ (with sudo)}" >&2; \
as_root+=(env DEBIAN_FRONTEND=noninteractive); \
for name in http_proxy https_proxy no_proxy; do [ -z "$${!name-}" ] || as_root+=("$$name=$${!name}"); done; \
if ! { "$${as_root[@]}" apt-get update -qq && \
	"$${as_root[@]}" apt-get install -qq -y --no-install-recommends "$${missing[@]}"; } \
	</dev/null >&2; then \
	echo "make: could not install: $${missing[*]}. $(2)" >&2; exit $(3); \
fi
endef

FIRST := run room test package help

.PHONY: first
first:
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { about[$$1] = $$2 } END { n = split("$(FIRST)", all, " "); for (i = 1; i <= n; i++) printf "  make %-11s %s\n", all[i], about[all[i]] }' $(MAKEFILE_LIST)

.PHONY: help
help: ## list all targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: go
go: # Go itself is the one thing that is not installed for you.
	@min=$$(awk '$$1 == "go" { print $$2 }' go.mod); \
	if ! command -v $(GO) >/dev/null; then \
		echo "make: Go is missing. Install Go $$min or newer from https://go.dev/dl and put its bin directory on PATH." >&2; exit 1; \
	fi; \
	have=$$($(GO) env GOVERSION 2>/dev/null </dev/null || true); have=$${have#go}; have=$${have%% *}; \
	if [ "$$(printf '%s\n' "$$min" "$${have:-0}" | sort -V | head -n 1)" != "$$min" ]; then \
		echo "make: Go $${have:-(unknown version)} is too old. Install Go $$min or newer from https://go.dev/dl." >&2; exit 1; \
	fi

.PHONY: deps
deps: go ## install what building and running need (nothing to do: costs nothing)
	@$(call install,$(BUILD_NEEDS),conch cannot be built without them.,1)
	@$(call install,$(VOICE_NEEDS),The rehearsal voice cannot hear or speak without them.,0)

.PHONY: deps-test
deps-test: deps ## install what the tests need on top
	@$(call install,$(VOICE_NEEDS) $(TEST_NEEDS),The tests need them.,1)

.PHONY: build
build: deps ## build bin/conch
	@[ -e bin/conch ] || echo "make: building bin/conch (the first time takes a minute or two: the sound library is C)" >&2
	@$(GO) build -tags '$(TAGS)' -ldflags '-s -w -X conch/device.version=$(VERSION)' -o bin/conch ./cmd/conch </dev/null >&2

# make itself ends with 0 when the program did and with 2 when it did not; the program's own status stands in make's message.
.PHONY: run
run: build ## run the appliance; ARGS="--config FILE" and the like
	@exec bin/conch run $(ARGS)

.PHONY: room
room: build ## a room of three companions on virtual hardware; type questions
	@exec bin/conch rehearse $(ARGS)

.PHONY: lint-tool
lint-tool: go
	@version() { "$$1" version 2>/dev/null | grep -q 'version $(LINT_VERSION) '; }; mkdir -p bin/tools; \
	if version $(LINT); then exit 0; fi; \
	if own=$$(command -v golangci-lint || ls "$$($(GO) env GOPATH)/bin/golangci-lint" 2>/dev/null) && version "$$own"; then ln -sf "$$own" $(LINT); exit 0; fi; \
	echo "make: building golangci-lint $(LINT_VERSION) into bin/tools (about 70 s, once)" >&2; \
	GOBIN="$(CURDIR)/bin/tools" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION)

.PHONY: check
check: deps-test lint-tool ## format, vet, lint, long lines, forbidden paths, skipped tests; what the program is made of
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	[ -z "$$bad" ] || { echo "check: not gofmt-clean (gofmt -w them):"; echo "$$bad"; exit 1; }
	@$(GO) vet ./...
	@$(LINT) run --allow-parallel-runners ./...
	@# The brackets keep the pattern from finding itself.
	@# The guests that the package is tried in have homes of their own.
	@! git grep -nIE '/[w]ork/|/[f]arm/|/tmp/[b]ash_' -- . || { echo "check: paths of one machine in tracked files"; exit 1; }
	@! git grep -nIE '/[r]oot/' -- . ':!systemd/vm' ':!systemd/package' || { echo "check: a home of one machine in tracked files"; exit 1; }
	@silent=$$(git grep -nE '\.(Skip|SkipNow|Skipf)\((""|)\)' -- '*_test.go' || true); \
	[ -z "$$silent" ] || { echo "check: a skipped test must print what is missing:"; echo "$$silent"; exit 1; }
	@sleeps=$$(git grep -nE '[t]ime\.Sleep\(' -- $$(git grep -LE 'testing/synctest' -- '*_test.go') | grep -vE '//|:func f\(c chan int\)' || true); \
	[ -z "$$sleeps" ] || { echo "check: a test that really sleeps must say why, on the line:"; echo "$$sleeps"; exit 1; }
	@mute=$$(git grep -nE -A2 ', ok := .*\.\([A-Za-z.]+\); ok' -- '*.go' | grep -E -- '-[0-9]+-[[:space:]]*_ = ' || true); \
	[ -z "$$mute" ] || { echo "check: what was found by assertion is thrown away:"; echo "$$mute"; exit 1; }
	@if command -v shellcheck >/dev/null; then shellcheck $(PACKAGE_SCRIPTS); else echo "check: shellcheck is not installed: scripts are not looked at"; fi
	@systemd/package/workflow-test .github/workflows/*.yml
	@echo "check: clean; $$(git grep -hE '\b[tbf]\.Skip(f|Now)?\(' -- '*.go' | wc -l) places where a test may skip itself (make test says which did)"
	@$(MAKE) build
	@$(GO) run ./device/house -binary bin/conch

# COUNT=1 runs tests whose last result is known, too.
COUNT  ?=
GOTEST := $(GO) test -json $(if $(COUNT),-count=$(COUNT))

.PHONY: test
test: deps-test ## all tests but the long ones (about five minutes on two cores)
	@{ status=0; if [ '$(PKG)' = ./... ]; then \
		long=$$($(GO) run ./device/testlog names); echo "left to make test-long: $$(grep -c . device/testlog/long.txt) tests"; \
		$(GOTEST) -skip "$$long" -p 3 -timeout 10m $$($(GO) list ./... | grep -vxF $(TIMED:./%=-e conch/%)) || status=1; \
		$(GOTEST) -skip "$$long" -p 2 -timeout 15m $(TIMED) || status=1; \
	else $(GOTEST) -p 2 -timeout 15m $(PKG) || status=1; fi; exit $$status; } | $(GO) run ./device/testlog

.PHONY: test-long
test-long: deps-test ## the tests that keep real time for long (device/testlog/long.txt; some ten minutes)
	@$(GOTEST) -run "$$($(GO) run ./device/testlog names)" -p 1 -timeout 15m $$($(GO) run ./device/testlog packages) | $(GO) run ./device/testlog

OFTEN ?= 10
BUSY  ?= 0

.PHONY: test-often
test-often: deps-test ## make test OFTEN times (default 10), beside BUSY busy loops (default 0); each run is a line in build/often.txt
	@mkdir -p build; busy=(); trap 'for pid in "$${busy[@]}"; do kill "$$pid"; done' EXIT; \
	for ((i = 0; i < $(BUSY); i++)); do ( trap - EXIT; while :; do :; done ) & busy+=($$!); done; red=0; \
	for ((run = 1; run <= $(OFTEN); run++)); do \
		start=$$SECONDS; how=green; $(MAKE) $(or $(TESTS),test) COUNT=1 >build/often.log 2>&1 || { how=red; red=1; cp build/often.log build/often-$$run.log; }; \
		echo "$$(date -u +%FT%TZ) $$(git rev-parse --short HEAD) $(or $(TESTS),test) busy=$(BUSY) $$run/$(OFTEN) $$((SECONDS - start)) s $$how" | tee -a build/often.txt; \
		[ $$how = green ] || grep -A100 'packages failed' build/often.log; \
	done; exit $$red

.PHONY: quick
quick: deps ## the tests that need neither sound nor network: machines, decoders, tables, boards (half a minute)
	@$(GO) test $(QUICK)

.PHONY: house
house: deps ## lines, files and methods, a package a line, the arrows that run back up inside each, and what is too long
	@$(GO) run ./device/house -v

# Where several goroutines share state. The device, the program and the calls of the intercom keep real time: they are tried each night.
SHARED ?= ./coordinator ./companions ./companions/voice/realtime ./companions/voice/cascade ./mqtt/... ./gpio ./audio/mixer ./device/announce ./device/control ./device/homeassistant ./device/mcp ./device/printable ./device/reload ./device/room ./device/service ./device/store ./device/tuner ./device/usage ./device/world

.PHONY: race
race: deps-test ## all tests under the race detector; race-shared: the packages whose goroutines share state
	@# Few at a time: sound does not wait for a detector that takes ten times as long.
	@$(GO) test -race -p 1 -parallel 3 -timeout 40m $(PKG)

.PHONY: race-shared
race-shared: deps-test
	@$(GO) test -race -p 2 -timeout 20m $(filter-out ./coordinator,$(SHARED))
	@$(GO) test -race -timeout 20m ./coordinator -runs 1000

.PHONY: fuzz
fuzz: deps ## every fuzz target for FUZZTIME each (default 60s)
	@# On a busy machine Go takes the end of that time for a failure, now and then: without an input that fails, it is none.
	@top=$(CURDIR); work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; cache=$$($(GO) env GOCACHE)/fuzz; n=0; built=; \
	while IFS=: read -r file func; do \
		n=$$((n+1)); dir=$$(dirname "$$file"); echo "== $$func ($$dir), $(FUZZTIME)"; \
		[ "$$dir" = "$$built" ] || { $(GO) test -c -fuzz . -o "$$work/test" "./$$dir"; built=$$dir; }; \
		fuzz() { cd "$$top/$$dir" && "$$work/test" -test.run "$$1" -test.fuzzcachedir "$$cache/conch/$$dir" "$${@:2}"; }; \
		( fuzz '^$$' -test.fuzz "^$$func\$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 20x ) 2>&1 | tee "$$work/log" || { \
			grep -qx ' *context deadline exceeded' "$$work/log" && ! grep -q 'Failing input' "$$work/log" && \
			( fuzz "^$$func\$$" ); }; \
	done < <(git ls-files -co --exclude-standard '*_test.go' | sort | xargs grep -oE '^func Fuzz[A-Za-z0-9_]+' | sed 's/:func /:/'); \
	[ "$$n" -gt 0 ] || { echo "fuzz: no target found"; exit 1; }; echo "fuzz: $$n targets, no finding"

SIM_ROUNDS ?= 100000

.PHONY: sim
sim: deps ## rooms with every fault in virtual time, SIM_ROUNDS rounds (default 100000, about a minute); ARGS="-sim.seed=S -sim.world=W" replays
	@# A heap this small is collected all the time: a fifth of the work is saved by letting it grow.
	@GOGC=400 $(GO) test -count=1 -v -timeout 30m -run '^TestSimulation$$' ./companions/round -sim.rounds=$(SIM_ROUNDS) $(ARGS)

.PHONY: score
score: deps ## how many answers of the room's rules are right in recorded dialogues: DIALOGUES=FILE,FILE, absolute
	@$(GO) test -count=1 -v -run 'TestScores' ./companions/recorded -args -dialogues='$(DIALOGUES)'

.PHONY: tones
tones: deps ## the pairing code's tones in 2,240 simulated rooms, and hours of what is no code (some minutes)
	@$(GO) test -count=1 -v -timeout 60m -run 'TestRooms|TestNothingIsHeard' ./audio/tones -tones.rooms=40 -tones.minutes=60 $(ARGS)

.PHONY: bench
bench: deps-test ## press to silence and the other figures, each promise beside its figure at the end (half an hour); PICTURE=device/benchtest/silence.svg draws that of the README anew
	@$(call install,$(BENCH_NEEDS),Its rows are skipped.,0)
	@mkdir -p build; rm -f build/bench.jsonl; status=0; \
	CONCH_BENCH_RESULTS="$(CURDIR)/build/bench.jsonl" $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 60m $(PKG) || status=1; \
	$(GO) run ./device/benchtest/table -svg '$(PICTURE)' $(if $(filter-out file,$(origin BENCH) $(origin PKG)),,-all) build/bench.jsonl || status=1; exit $$status

.PHONY: e2e
e2e: deps-test ## the real binary: stories, twins, rehearsal server, faults
	@$(GO) test -count=1 -v -timeout 10m ./cmd/... ./device/...

.PHONY: test-audio
test-audio: deps-test ## sound on a private PulseAudio and the simulated ALSA card
	@CONCH_TEST_AUDIO=1 $(GO) test -count=1 -v -timeout 15m ./audio/...
	@CONCH_TEST_AUDIO=1 $(GO) test -count=1 -v -timeout 15m -run 'PulseAudio|ALSA|Unplugged' ./device

.PHONY: test-alsa
test-alsa: deps-test ## the half of test-audio that needs no sound server (some two minutes)
	@CONCH_TEST_AUDIO=1 $(GO) test -count=1 -v -timeout 15m -run ALSA ./device

.PHONY: test-pairing
test-pairing: deps-test ## devices on networks of their own pair, by sound and by hand, and lose their power at each step (root; minutes)
	@CONCH_TEST_PAIRING=1 $(GO) test -count=1 -v -timeout 15m -run 'PairingOnThreeNetworks|PowerCutAtEachRecord' ./device

.PHONY: test-cluster
test-cluster: deps-test ## a room at a NATS cluster whose nodes die, and how many rooms a cluster and a Mosquitto carry (some ten minutes)
	@mkdir -p build
	@cd mqtt/mqtttest/nats && $(GO) build -trimpath -o $(CURDIR)/build/conch-nats .
	@CONCH_TEST_NATS=$(CURDIR)/build/conch-nats $(GO) test -count=1 -v -timeout 30m -run '^TestRoomOnACluster$$' -bench '^BenchmarkManyRooms$$' -benchtime 1x ./device

LIAR_NEEDS := \
	python3-paho-mqtt='/usr/bin/python3 -c "import paho.mqtt.client"' \
	python3-cryptography='/usr/bin/python3 -c "import cryptography"'

.PHONY: test-liars
test-liars: deps-test ## five devices converse beside one member of each kind that lies, for LIARS_FOR (default 10m; root); and a member in Python tries each kind (some ten minutes)
	@CONCH_TEST_LIARS=$(or $(LIARS_FOR),10m) $(GO) test -count=1 -v -timeout 40m -run '^TestFiveDevicesConverseBesideLiars$$' ./device
	@$(call install,$(LIAR_NEEDS),The liar of another make is a Python program.,1)
	@CONCH_TEST_LIARS=1 $(GO) test -count=1 -v -timeout 40m -run '^TestAForeignLiarAttacks$$' ./cmd/conch

.PHONY: test-home
test-home: deps-test ## ten dialogues of a day at home, spoken to three devices, typed at one: who answers each line; what SKILLS.md has people say (some six minutes)
	@CONCH_TEST_HOME=1 $(GO) test -count=1 -v -timeout 20m -run '^TestADayAtHome|^TestEachSentenceOfThePage' ./cmd/conch

.PHONY: test-hostile
test-hostile: deps-test ## every way in which servers misbehave against a whole device, thirty turns each, as a table (some ten minutes)
	@CONCH_TEST_HOSTILE=1 $(GO) test -count=1 -v -timeout 40m -run '^TestHostileServers$$' ./device $(ARGS)

# llama.cpp's and whisper.cpp's own servers, as Debian's unstable suite packs them, in a root beside the tests.
SERVERS := llama.cpp-tools whisper.cpp-tools

.PHONY: test-servers
test-servers: deps-test ## a real whisper-server and llama-server, with models made here: heard, answered, called, pressed, stopped, killed, loading, full (root; downloads 300 MB once a month; some three minutes)
	@$(call install,mmdebstrap='command -v mmdebstrap',The servers are in a Debian of their own, which cannot be made without it.,1)
	@tar=$$(systemd/package/debian sid $(SERVERS)); root=build/servers/$$(basename "$$tar" .tar); \
	if [ ! -d "$$root" ]; then \
		rm -rf build/servers; mkdir -p "$$root.part"; \
		tar -C "$$root.part" --exclude='./dev/*' -xf "$$tar"; mv "$$root.part" "$$root"; \
	fi; \
	for package in $(SERVERS); do echo "$$package $$(chroot "$$root" dpkg-query -W -f '$${Version}' $$package)"; done; \
	export CONCH_TEST_SERVERS="$(CURDIR)/$$root"; \
	$(GO) test -count=1 -v -timeout 15m ./companions/voice/serverstest; \
	$(GO) test -count=1 -v -timeout 15m -run 'RealServer' ./cmd/conch

.PHONY: deps-web
deps-web: deps-test
	@$(call install,$(WEB_NEEDS),Nobody looks at the page without it.,0)

.PHONY: test-web
test-web: deps-web ## the page in a real browser: looked at, talked into, audited, flooded (some five minutes); ARGS=-update takes its pictures anew
	@CONCH_TEST_WEB=1 $(GO) test -count=1 -v -timeout 20m -parallel 2 ./device/web $(if $(ARGS),-args $(ARGS))

.PHONY: soak
soak: deps-web ## the page looks on at an hour of events, and is as large at the end as at the beginning (an hour and some minutes)
	@CONCH_TEST_SOAK=1 $(GO) test -count=1 -v -timeout 90m -run '^TestAnHourOfEvents$$' ./device/web

KILLS ?= 200

.PHONY: test-kills
test-kills: deps ## kill -9 at KILLS random instants while timers, reminders and bookmarks are written (a minute)
	@CONCH_TEST_KILLS=$(KILLS) $(GO) test -count=1 -v -timeout 20m -run '^TestKilledAtAnyInstant$$' ./device/store

.PHONY: test-js
test-js: deps-test ## the official JavaScript client against the rehearsal server
	@$(GO) test -count=1 -v -timeout 10m -run 'JavaScript' ./companions/voice/...

.PHONY: cover
cover: deps-test ## coverage by package, whole in build/cover.html
	@mkdir -p build
	@$(GO) test -coverprofile=build/cover.out $(PKG)
	@$(GO) tool cover -html=build/cover.out -o build/cover.html
	@$(GO) tool cover -func=build/cover.out | tail -n 1

.PHONY: footprint
footprint: build deps-test ## memory, CPU, wake-ups, size and time to ready of the binary, on this machine as it is and with a simulated ALSA card
	@status=0; bin/conch bench footprint || status=$$?; \
	echo; $(GO) run ./audio/alsacard/run bin/conch bench footprint || status=$$?; exit $$status

.PHONY: screens
screens: build deps-test ## what stands on the screen in ten situations, as SVG in build/screens; PLAY=FILE.svg records a room instead
	@$(GO) run ./device/terminal/screens -conch bin/conch $(if $(PLAY),-play '$(PLAY)')

.PHONY: clips
clips: deps-test ## make the spoken clips that ship with conch anew
	@$(GO) generate ./audio/words

# --- the package (systemd/package)

ARCHES      ?= arm64 armhf amd64
# What dpkg compares; asked for once, and only where it is used.
DEB_VERSION  = $(eval DEB_VERSION := $(shell systemd/package/version))$(DEB_VERSION)
DEBS         = $(foreach arch,$(ARCHES),build/conch_$(DEB_VERSION)_$(arch).deb)

PACKAGE_NEEDS := \
	dpkg-dev='command -v dpkg-deb' \
	xz-utils='command -v xz'
# Only some compilers bring the C library of what they compile for; it is a recommendation of the others.
PACKAGE_NEEDS_arm64 := gcc-aarch64-linux-gnu='command -v aarch64-linux-gnu-gcc' \
	libc6-dev-arm64-cross='echo "\#include <stdio.h>" | aarch64-linux-gnu-gcc -E -'
PACKAGE_NEEDS_armhf := gcc-arm-linux-gnueabihf='command -v arm-linux-gnueabihf-gcc' \
	libc6-dev-armhf-cross='echo "\#include <stdio.h>" | arm-linux-gnueabihf-gcc -E -'
PACKAGE_NEEDS_amd64 := gcc-x86-64-linux-gnu='command -v x86_64-linux-gnu-gcc' \
	libc6-dev-amd64-cross='echo "\#include <stdio.h>" | x86_64-linux-gnu-gcc -E -'

.PHONY: deps-package
deps-package: deps ## install what cross building and packing need
	@$(call install,$(PACKAGE_NEEDS) $(foreach arch,$(ARCHES),$(PACKAGE_NEEDS_$(arch))),The packages cannot be built without them.,1)

# Which compiler and which Go an architecture of Debian means.
TARGET_amd64 := GOARCH=amd64 CC=x86_64-linux-gnu-gcc
TARGET_arm64 := GOARCH=arm64 CC=aarch64-linux-gnu-gcc
TARGET_armhf := GOARCH=arm GOARM=7 CC=arm-linux-gnueabihf-gcc

.PHONY: cross
cross: deps-package $(ARCHES:%=cross-%) ## build build/ARCH/conch for ARCHES (default: arm64 armhf amd64)

.PHONY: $(ARCHES:%=cross-%)
$(ARCHES:%=cross-%): cross-%:
	@mkdir -p build/$*
	@[ -e build/$*/conch ] || echo "make: building build/$*/conch (the first time takes a minute or two)" >&2
	@# What is shipped is built by the toolchain that go.mod names, whichever is installed: its standard library is in the program.
	@# Not position independent: relocating it made 3 MB of tables the process's own, read 3 MB of relocations for it, and kept both.
	@GOTOOLCHAIN=$$(awk '$$1 == "toolchain" { print $$2 }' go.mod) CGO_ENABLED=1 GOOS=linux $(TARGET_$*) $(GO) build -tags '$(TAGS)' -trimpath -buildvcs=false \
		-ldflags '-s -w -X conch/device.version=$(DEB_VERSION) -extldflags "-Wl,-z,relro,-z,now"' -o build/$*/conch ./cmd/conch </dev/null >&2
	@stat -c '%n: %s bytes' build/$*/conch

.PHONY: package
package: cross ## build build/conch_VERSION_ARCH.deb for ARCHES
	@mkdir -p build/host; $(GO) build -ldflags '-X conch/device.version=$(DEB_VERSION)' -o build/host/conch ./cmd/conch </dev/null >&2
	@for arch in $(ARCHES); do \
		CONCH="$(CURDIR)/build/host/conch" systemd/package/build $$arch $(DEB_VERSION) build/$$arch/conch build/conch_$(DEB_VERSION)_$$arch.deb; \
	done
	@stat -c '%n: %s bytes' $(DEBS)

PACKAGE_TEST_NEEDS := \
	lintian='command -v lintian' \
	systemd='command -v systemd-analyze' \
	binutils='command -v readelf' \
	qemu-user-static='command -v qemu-aarch64-static' \
	groff='command -v groff' \
	fish='command -v fish' \
	zsh='command -v zsh' \
	shellcheck='command -v shellcheck'

PACKAGE_SCRIPTS := $(filter-out %/copyright %/origin %.md,$(wildcard systemd/package/*))

.PHONY: test-package
test-package: package ## look at the packages, and have each hold a conversation under qemu-user (no root)
	@$(call install,$(PACKAGE_TEST_NEEDS),The packages cannot be tested without them.,1)
	@shellcheck $(PACKAGE_SCRIPTS)
	@CONCH="$(CURDIR)/build/host/conch" systemd/package/test $(DEBS)
	@$(GO) test -count=1 -run 'Completes|ManPage' ./cmd/conch

.PHONY: test-install
test-install: ## install, upgrade, remove and purge in a Debian of its own (root, systemd-nspawn)
	@$(call install,mmdebstrap='command -v mmdebstrap' systemd-container='command -v systemd-nspawn' procps='command -v pgrep',The packages cannot be installed without them.,1)
	@$(MAKE) package ARCHES=$$(dpkg --print-architecture) >&2
	@systemd/package/install-test $$(ls -t build/conch_*_$$(dpkg --print-architecture).deb | head -n 1)

# --- where it is got from (systemd/package/RELEASE.md)

.PHONY: release
release: package ## what a release consists of, in build/release: the packages and SHA256SUMS
	@rm -rf build/release; mkdir -p build/release; cp $(DEBS) build/release/; \
	cd build/release; sha256sum *.deb >SHA256SUMS; cat SHA256SUMS

DIR  ?= build/repo
KEY  ?=
FROM ?=
REPO_NEEDS := \
	apt-utils='command -v apt-ftparchive' \
	gnupg='command -v gpg' \
	gpgv='command -v gpgv' \
	curl='command -v curl'

.PHONY: repo
repo: package ## an apt repository of the packages in DIR (build/repo), signed with KEY of your GnuPG, beside the versions that are there, or those FROM another
	@$(call install,$(REPO_NEEDS),The repository cannot be made without them.,1)
	@KEY='$(KEY)' FROM='$(FROM)' systemd/package/repo '$(DIR)' $(DEBS)

.PHONY: publishes
publishes: # publish=yes where a repository made here has an address and a lasting key
	@origin="$${CONCH_ORIGIN:-$$(sed -n 1p systemd/package/origin)}"; \
	if [ -z "$$origin" ]; then echo "make: nothing is published: there is no address (CONCH_ORIGIN, or the first line of systemd/package/origin)" >&2; echo publish=no; \
	elif [ -z "$${CONCH_SIGNING_KEY:-}" ]; then echo "make: nothing is published: there is no CONCH_SIGNING_KEY" >&2; echo publish=no; \
	else echo publish=yes; fi

REPO_SUITES ?= bookworm trixie
REPO_TESTS  := mmdebstrap='command -v mmdebstrap' systemd-container='command -v systemd-nspawn' procps='command -v pgrep' python3='command -v python3'

.PHONY: test-repo
test-repo: ## from a signed repository to the appliance by install.sh, and all that it has to refuse, in Debians of their own: REPO_SUITES (root, systemd-nspawn)
	@$(call install,$(REPO_NEEDS) $(REPO_TESTS),The repository cannot be tried without them.,1)
	@$(MAKE) package ARCHES=$$(dpkg --print-architecture) >&2
	@for suite in $(REPO_SUITES); do CONCH_SUITE=$$suite systemd/package/repo-test build/conch_$(DEB_VERSION)_$$(dpkg --print-architecture).deb; done

REPO_ARM ?= bookworm/arm64 trixie/armhf

.PHONY: test-repo-arm
test-repo-arm: ## the beginning and the end of it for the processors of a Pi, under qemu-user: REPO_ARM (root)
	@$(call install,$(REPO_NEEDS) $(REPO_TESTS) qemu-user-static='command -v qemu-aarch64-static' arch-test='command -v arch-test',The repository cannot be tried without them.,1)
	@for each in $(REPO_ARM); do \
		$(MAKE) package ARCHES=$${each#*/} >&2; systemd/package/arm-test $${each#*/} $${each%/*} build/conch_$(DEB_VERSION)_$${each#*/}.deb; \
	done

ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

.PHONY: workflows
workflows: go ## look at .github/workflows: its syntax, and that each step is a target of this file
	@$(GO) run $(ACTIONLINT) .github/workflows/*.yml
	@systemd/package/workflow-test .github/workflows/*.yml

# --- this README on a machine that has nothing

FRESH_SUITES ?= bookworm trixie
FRESH        ?=

.PHONY: test-fresh
test-fresh: ## the README's commands, by a stranger, in a clean Debian with git, make and Go: FRESH_SUITES (root, systemd-nspawn; an hour)
	@$(call install,mmdebstrap='command -v mmdebstrap' systemd-container='command -v systemd-nspawn',A clean Debian cannot be made without them.,1)
	@for suite in $(FRESH_SUITES); do systemd/package/fresh-test $$suite $(FRESH); done

# --- an image for a card

include systemd/image/image.mk

# --- the machine test

include systemd/vm/vm.mk
