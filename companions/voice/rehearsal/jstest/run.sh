#!/bin/sh
# The official JavaScript clients converse with a rehearsal server that is already listening.
# usage: jstest/run.sh 127.0.0.1:PORT converse | agents KEY
# status 0: all was well; 3: something is missing, named on standard error
set -eu
[ $# -ge 2 ] || { echo "usage: $0 HOST:PORT converse | agents KEY" >&2; exit 2; }
cd "$(dirname "$0")"
for program in node npm openssl; do
	command -v "$program" >/dev/null || { echo "missing: $program" >&2; exit 3; }
done
has() { [ "$(sed -n 's/^  "version": "\(.*\)",*$/\1/p' "node_modules/$1/package.json" 2>/dev/null)" = "$2" ]; }
# The classes need no more than Node 20 gives, although the packages ask for 22; npm warns and installs. With Node 18 it leaves out
# what the agents SDK imports. Two tests may come here.
if [ "$2" = agents ] && [ "$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then
	echo "missing: node 20 or later for the agents SDK (this is $(node --version))" >&2
	exit 3
fi
(
	command -v flock >/dev/null && flock 9
	has openai 7.55.0 && has @openai/agents-realtime 0.20.0 ||
		npm ci --omit=dev --ignore-scripts --no-progress --loglevel=error >&2
) 9<package.json || { echo "missing: node_modules (npm ci failed)" >&2; exit 3; }
if [ "$2" = agents ]; then
	exec node agents.mjs "$1" "$3"
fi
key=$(mktemp -d)
trap 'rm -rf "$key"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=127.0.0.1 \
	-addext subjectAltName=IP:127.0.0.1 -keyout "$key/key.pem" -out "$key/cert.pem" 2>/dev/null
node converse.mjs "$1" "$key/cert.pem" "$key/key.pem"
