# Shared by what makes guests and Debians: apt for another machine than this one, and waiting with a bound.
#
# Everything comes from the package sources this machine itself is set up with: they are copied, and the name of the suite
# is replaced where another one is wanted. So no mirror is named here, and a mirror of one's own is used where there is one.

say() { echo "${0##*/}: $*" >&2; }
die() { say "$*"; exit 1; }

# retry N COMMAND: indexes and packages of a suite move while one reads them; an hour later it would have worked.
retry() {
	local n=$1 i
	shift
	for ((i = 1; i <= n; i++)); do
		if "$@"; then return 0; fi
		[ "$i" = "$n" ] || { say "attempt $i of $n failed: $*; again in $((i * 10)) s"; sleep $((i * 10)); }
	done
	return 1
}

# sources SUITE DIR: this machine's sources for SUITE. The unstable suite has neither updates nor a security suite beside it.
sources() {
	local here only=(cat)
	[ "$1" != sid ] || only=(awk 'BEGIN { RS = ""; ORS = "\n\n" } { gsub(/(^|\n)deb[^\n]* sid-[^\n]*/, ""); gsub(/ sid-[a-z-]+/, "") } / sid/')
	here=$(. /etc/os-release && echo "${VERSION_CODENAME:?this machine does not say which Debian it is}")
	mkdir -p "$2"
	local f
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list; do
		[ -s "$f" ] || continue
		# Whoever else sells packages to this machine has none for the guest.
		grep -qE "debian\.org|[/ ]debian|$here" "$f" && sed "s/\b$here\b/$1/g" "$f" | "${only[@]}" >"$2/$(basename "$f" | sed 's/^sources.list$/main.list/')"
	done
	find "$2" -type f -empty -delete
	ls "$2"/* >/dev/null 2>&1 || die "no package sources in /etc/apt to copy"
}

# apt_for ARCH SUITE DIR: an apt of its own, without touching this machine's. Use it with APT_CONFIG=DIR/apt.conf.
apt_for() {
	mkdir -p "$3"/{state/lists/partial,cache/archives/partial,trusted,preferences}
	: >"$3/state/status"
	sources "$2" "$3/sources"
	cat >"$3/apt.conf" <<-CONF
		APT::Architecture "$1";
		APT::Architectures { "$1"; };
		APT::Sandbox::User "root";
		APT::Get::AllowUnauthenticated "false";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Dir::State "$3/state";
		Dir::State::status "$3/state/status";
		Dir::Cache "$3/cache";
		Dir::Etc::sourcelist "/dev/null";
		Dir::Etc::sourceparts "$3/sources";
		Dir::Etc::preferencesparts "$3/preferences";
	CONF
	APT_CONFIG=$3/apt.conf retry 4 timeout 300 apt-get update -qq -o APT::Update::Error-Mode=any >&2
}

# unpack DIR PACKAGE...: downloads and unpacks without installing; DIR must hold an apt_for.
unpack() {
	local dir=$1
	shift
	mkdir -p "$dir/debs" "$dir/root"
	(cd "$dir/debs" && APT_CONFIG=$dir/apt.conf retry 3 timeout 900 apt-get download -qq "$@" >&2)
	local deb
	for deb in "$dir"/debs/*.deb; do dpkg -x "$deb" "$dir/root"; done
	rm -rf "$dir/debs"
}
