#!/usr/bin/env bash
# Writes client.json and server.json again from the official types (npm openai, src/resources/realtime/realtime.ts).
# Both versions are pinned: another version is a reviewed diff of this file and of the two schemas.
# Run by `go generate ./companions/voice/realtime/schema`; needs node, npm and the npm registry.
set -euo pipefail
openai=7.55.0    # npm pack without a version gives an older major on Node 20
generator=2.4.0

here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm pack --silent "openai@$openai" >/dev/null
tar xzf "openai-$openai.tgz"
npm init -y >/dev/null 2>&1
npm install --silent --no-audit --no-fund "ts-json-schema-generator@$generator" >/dev/null
types=package/src/resources/realtime/realtime.ts
# Strict: an unknown key is an error (additionalProperties false, the generator's default). The prose is left out.
for side in Client Server; do
	npx --no-install ts-json-schema-generator --path "$types" --type "Realtime${side}Event" \
		--no-type-check --jsDoc none --out "$here/$(echo "$side" | tr '[:upper:]' '[:lower:]').json"
done
cp package/LICENSE "$here/LICENSE.openai"
