#!/bin/sh
# The official JavaScript client converses with a rehearsal server that is already listening.
# usage: jstest/run.sh 127.0.0.1:PORT      status 0: all was well; 3: something is missing, named on standard error
set -eu
[ $# -eq 1 ] || { echo "usage: $0 HOST:PORT" >&2; exit 2; }
cd "$(dirname "$0")"
for program in node npm openssl; do
	command -v "$program" >/dev/null || { echo "missing: $program" >&2; exit 3; }
done
# The class needs no more than Node 20 gives, although the package asks for 22; npm warns and installs.
[ "$(node -p 'require("./node_modules/openai/package.json").version' 2>/dev/null)" = 7.55.0 ] ||
	npm ci --omit=dev --ignore-scripts --no-progress --loglevel=error >&2 ||
	{ echo "missing: node_modules (npm ci failed)" >&2; exit 3; }
key=$(mktemp -d)
trap 'rm -rf "$key"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=127.0.0.1 \
	-addext subjectAltName=IP:127.0.0.1 -keyout "$key/key.pem" -out "$key/cert.pem" 2>/dev/null
node converse.mjs "$1" "$key/cert.pem" "$key/key.pem"
