#!/bin/sh
# Public servers of the Model Context Protocol, installed beside this file from npm, in the versions that the tests are for.
# status 0: they are there; 3: something is missing, named on standard error
set -eu
cd "$(dirname "$0")"
for program in node npm; do
	command -v "$program" >/dev/null || { echo "missing: $program" >&2; exit 3; }
done
if [ "$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then
	echo "missing: node 20 or later (this is $(node --version))" >&2
	exit 3
fi
has() { grep -qs '"version": "2026.8.31"' "node_modules/@modelcontextprotocol/$1/package.json"; }
(
	command -v flock >/dev/null && flock 9
	has server-everything && has server-filesystem ||
		npm ci --omit=dev --ignore-scripts --no-progress --loglevel=error >&2
) 9<package.json || { echo "missing: node_modules (npm ci failed)" >&2; exit 3; }
