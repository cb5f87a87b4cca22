#!/bin/sh
# install.sh: adds conch's apt repository to this system and installs conch from it.
#
#	sudo sh install.sh               installs, or brings up to date; may be run again at any time
#	sh install.sh --dry-run          says what it would do, and does nothing (needs no root)
#	sudo sh install.sh --remove      takes the repository away again; conch stays (sudo apt purge conch)
#
# CONCH_ORIGIN is another address of the repository (a mirror). Whatever comes from there must be signed by the key that is
# written below: apt itself fetches and judges it, so that neither curl nor wget nor GnuPG is needed. Nothing is changed before
# the repository has been read and believed, and nothing stays changed if its packages then do not arrive.

# These are filled in by systemd/package/repo, which makes the repository.
origin=''
fingerprint=''
expires='' # as seconds since 1970; nothing: never
key=''

keyring=/usr/share/keyrings/conch-archive-keyring.gpg
sources=/etc/apt/sources.list.d/conch.sources
work='' undo=''

say() { printf 'conch: %s\n' "$*" 2>/dev/null; }
no() {
	printf 'conch: %s\n' "$*" >&2
	exit 1
}

ended() {
	status=$?
	trap '' INT TERM HUP PIPE
	if [ -n "$undo" ]; then
		# What stood there before stands there again.
		for file in "$sources" "$keyring"; do
			if [ -e "$work/before/${file##*/}" ]; then cp "$work/before/${file##*/}" "$file"; else rm -f "$file"; fi
			rm -f "$file.part"
		done
		printf 'conch: nothing is installed, and everything is as it was\n' >&2
	fi
	[ -z "$work" ] || rm -rf "$work"
	exit "$status"
}

# known: is this a system, and a machine, that conch runs on?
known() {
	# shellcheck source=/dev/null
	name=$(. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-}")
	if ! command -v dpkg >/dev/null || ! command -v apt-get >/dev/null; then
		no "${name:-this system} has no apt: conch comes as a package for Debian 12 and later, Raspberry Pi OS bookworm and later, and Ubuntu 22.04 and later. Elsewhere it is built from its source: make run"
	fi
	arch=$(dpkg --print-architecture)
	case $arch-$(uname -m) in
	armhf-armv6*) no "this board has an ARMv6 processor (Pi Zero, Zero W or 1); conch needs ARMv7 or newer: a Pi Zero 2 W, 2, 3, 4 or 5" ;;
	armhf-* | arm64-* | amd64-*) ;;
	armel-*) no "this system is built for armel, the oldest processors; conch needs armhf, arm64 or amd64: Raspberry Pi OS on a Pi Zero 2 W, 2, 3, 4 or 5" ;;
	*) no "there is no conch for $arch: it is packaged for arm64, armhf and amd64, and elsewhere built from its source: make run" ;;
	esac
	# What was compiled asks for this C library, and the unit for this systemd.
	enough libc6 2.34
	enough systemd 250
}

enough() {
	have=$(dpkg-query -W -f '${Version}' "$1" 2>/dev/null)
	[ -n "$have" ] || no "${name:-this system} has no $1, and conch is run by it; Debian 12 and later, Raspberry Pi OS bookworm and later, and Ubuntu 22.04 and later have it"
	dpkg --compare-versions "$have" ge "$2" ||
		no "${name:-this system} has $1 $have, and conch needs $2 or newer: Debian 12 and later, Raspberry Pi OS bookworm and later, and Ubuntu 22.04 and later have it"
}

# writable: an overlay over the card (raspi-config) or a worn out one is told before anything is done.
writable() {
	for dir in "${sources%/*}" "${keyring%/*}" /var/lib/dpkg /var/lib/apt; do
		if ! { mkdir -p "$dir" && touch "$dir/.conch.$$"; } 2>/dev/null; then
			no "$dir cannot be written: a full disk (df -h), a worn out card, or a read-only file system (sudo raspi-config, Performance Options, Overlay File System)"
		fi
		rm -f "$dir/.conch.$$"
	done
}

hostof() {
	printf '%s' "$1" | sed 's|^[a-z+]*://||; s|[/:].*||'
}

# explain WHAT: what apt has said in $work/said, in a sentence, and its own words below it.
explain() {
	case $(cat "$work/said") in
	*'not valid yet'*) why="this machine's clock says $(date '+%F %R'), which is before the repository was made: set it (sudo timedatectl set-ntp true) and try again" ;;
	*EXPKEYSIG* | *[Ee]xpired*) why='the key has expired: get a newer install.sh' ;;
	*NOSPLIT* | *'network require authentication'*) why='what came is not a signed repository: is there a sign-in page between this machine and the network?' ;;
	*BADSIG* | *NO_PUBKEY* | *'not signed'* | *'Bad signature'* | *'Missing key'* | *'signatures couldn'* | *'signatures were invalid'* | *'ignature verification failed'* | *'erifying signature'*)
		why="what came is not signed by $fingerprint: somebody has changed it, or it is another repository" ;;
	*'Hash Sum mismatch'* | *'unexpected size'* | *'ile has size'* | *'size mismatch'*) why='what came is not what the repository promises: cut short, changed, or just being renewed; nothing of it is used. Try again in a while' ;;
	*'could not resolve'* | *'Could not resolve'* | *'failure resolving'*) why="its name is not found: is there a network? (getent hosts $(hostof "$origin"))" ;;
	*ertificate*) why="the server's certificate is not believed: is the clock right ($(date '+%F %R')), and ca-certificates installed?" ;;
	*'404 '*) why='there is no such repository, or it lacks something' ;;
	*'ould not connect'* | *'onnection failed'* | *'onnection timed out'* | *'onnection refused'* | *nreachable* | *'imeout'*) why='it is not reached: is there a network?' ;;
	*'No space left'* | *'enough free space'*) why='the disk is full: df -h' ;;
	*'Could not get lock'*) why='another apt is at work: wait until it has ended' ;;
	*) why='apt has failed' ;;
	esac
	grep -E '^(E|W|Err)' "$work/said" | sed 's/^/    /' >&2
	no "$1: $why"
}

# believed: reads the repository with lists and settings of its own, beside the system's. apt's helpers are another user.
believed() {
	mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/sources"
	printf %s "$key" | base64 -d >"$work/key.gpg" || no "the key in this install.sh is damaged: get it again"
	described "$work/key.gpg" >"$work/sources/conch.sources"
	chmod -R go=rX "$work"
	own="-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$work/sources -o Dir::State::lists=$work/lists -o Dir::Cache=$work/cache"
	say "reading $origin"
	# shellcheck disable=SC2086 # options
	apt-get update $own -o APT::Update::Error-Mode=any $patience </dev/null >"$work/said" 2>&1 || explain "$origin cannot be used"
	# shellcheck disable=SC2086
	new=$(apt-cache $own madison conch 2>/dev/null | awk -F '[ |]+' 'NR == 1 { print $3 }')
	[ -n "$new" ] || no "$origin has no conch for $arch"
	have=$(dpkg-query -W -f '${db:Status-Status} ${Version}' conch 2>/dev/null | sed -n 's/^installed //p')
	say "it has conch $new for $arch, signed by $fingerprint"
}

described() {
	printf 'Types: deb\nURIs: %s\nSuites: stable\nComponents: main\nArchitectures: %s\nSigned-By: %s\n' "$origin" "$arch" "$1"
}

# put FROM FILE: whole or not at all.
put() {
	{ cp "$1" "$2.part" && chmod 644 "$2.part" && mv "$2.part" "$2"; } || no "$2 cannot be written"
}

add() {
	mkdir -p "$work/before"
	for file in "$sources" "$keyring"; do [ ! -e "$file" ] || cp "$file" "$work/before/" || no "$file cannot be kept"; done
	undo=yes
	described "$keyring" >"$work/conch.sources"
	put "$work/key.gpg" "$keyring"
	put "$work/conch.sources" "$sources"
	say "getting conch and what it needs"
	# A list of somebody else's that cannot be had is no reason to stop: whether all is there shows next.
	tries=0
	# shellcheck disable=SC2086
	until apt-get update -q $patience </dev/null >"$work/said" 2>&1; do
		tries=$((tries + 1))
		if [ $tries = 30 ] || ! grep -q 'Could not get lock' "$work/said"; then break; fi
		sleep 10
	done
	# shellcheck disable=SC2086
	apt-get install -q -y --download-only $patience conch conch-archive-keyring </dev/null >"$work/said" 2>&1 ||
		explain "conch or what it needs cannot be had"
	say "installing"
	undo=''
	# What somebody has written into a configuration stays. Nobody is there to be asked.
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y $patience -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
		conch conch-archive-keyring </dev/null >"$work/said" 2>&1 || {
		tail -n 15 "$work/said" | sed 's/^/    /' >&2
		no "apt has the packages and cannot install them; what it said stands above. sudo apt-get -f install goes on from there"
	}
	grep '^conch: ' "$work/said" | grep -v '^conch: next: ' || true
}

next() {
	got=$(dpkg-query -W -f '${Version}' conch)
	if [ "$have" = "$got" ]; then say "conch $got was installed already, and is the newest"; else say "conch $got is installed${have:+ (it was $have)}"; fi
	[ -d /run/systemd/system ] || say "systemd does not run here: conch starts with the next boot"
	if conch setup --help >/dev/null 2>&1; then step='sudo conch setup'; else step='sudo conch key (or nothing, for a rehearsal voice), then hold the button and talk'; fi
	say "next: $step"
}

remove() {
	[ -e "$sources" ] || [ -e "$keyring" ] || no "the repository is not here: nothing to remove"
	[ -z "$dry" ] || { say "would remove $sources, $keyring and the package conch-archive-keyring"; exit 0; }
	rm -f "$sources" || no "$sources cannot be removed"
	DEBIAN_FRONTEND=noninteractive apt-get purge -q -y conch-archive-keyring </dev/null >/dev/null 2>&1
	rm -f "$keyring" || no "$keyring cannot be removed"
	say "the repository is removed; conch is still installed: sudo apt purge conch takes it, its settings and its memory away"
}

main() {
	dry='' what=install
	for word; do
		case $word in
		--dry-run) dry=yes ;;
		--remove) what=remove ;;
		-h | --help)
			printf '%s\n' 'install.sh [--dry-run] [--remove]: adds the apt repository of conch and installs it; CONCH_ORIGIN=URL is another address of it'
			exit 0
			;;
		*)
			printf 'conch: install.sh knows no %s: --dry-run, --remove or --help\n' "$word" >&2
			exit 2
			;;
		esac
	done
	LC_ALL=C
	export LC_ALL
	umask 022
	known
	if [ -z "$dry" ] && [ "$(id -u)" != 0 ]; then
		if command -v sudo >/dev/null; then how='sudo sh install.sh'; else how='su -c "sh install.sh" (there is no sudo here)'; fi
		no "only root may install: $how; what it would do: sh install.sh --dry-run"
	fi
	[ -n "$dry" ] || writable
	trap ended EXIT
	trap 'exit 130' INT TERM HUP
	trap 'exit 141' PIPE # whoever read this has gone: sh install.sh | head
	[ $what != remove ] || { remove; exit 0; }

	origin=${CONCH_ORIGIN:-$origin}
	origin=${origin%/}
	[ -n "$key" ] || no "this install.sh belongs to no repository yet: it has no key in it. make repo DIR=DIR makes a repository, with an install.sh of its own"
	[ -n "$origin" ] || no "conch has no public address yet: sudo CONCH_ORIGIN=URL sh install.sh names one, as of what make repo has made"
	# Not every apt minds: one takes what was signed while the key was good.
	[ -z "$expires" ] || [ "$(date +%s)" -lt "$expires" ] || no "the key has expired, on $(date -d "@$expires" +%F): get a newer install.sh (or is the clock wrong? It says $(date '+%F %R'))"
	case $origin in
	*[!!-~]* | http://-* | https://-*) bad=yes ;;
	http://?* | https://?*) bad='' ;;
	*) bad=yes ;;
	esac
	[ -z "$bad" ] || {
		printf 'conch: CONCH_ORIGIN = "%s": must be an address as https://HOST/PATH\n' "$origin" >&2
		exit 2
	}
	patience='-o Acquire::Retries=2 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 -o DPkg::Lock::Timeout=300'

	work=$(mktemp -d) || no "there is no room for temporary files: df -h"
	believed
	if [ -n "$dry" ]; then
		say "would write $keyring"
		say "would write $sources:"
		described "$keyring" | sed 's/^/    /'
		if [ "$have" = "$new" ]; then say "conch $new is installed already"; else say "would install conch $new${have:+ over $have}, conch-archive-keyring and what they need"; fi
		exit 0
	fi
	add
	next
}

# Everything above only says how: a file that was cut short does nothing.
main "$@"
