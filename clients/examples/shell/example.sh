#!/usr/bin/env bash
# One log from the shell: nats writes and kcat reads, kcat writes and nats reads.
#
#   ./example.sh [KAFKA [NATS]]        (127.0.0.1:9092 and nats://127.0.0.1:4222)
#
# Needs kcat and nats (go install github.com/nats-io/natscli/nats@v0.5.0).
set -euo pipefail
kafka=${1:-127.0.0.1:9092}
export NATS_URL=${2:-nats://127.0.0.1:4222}
topic=shell-$$
step() { printf '\n$ %s\n' "$*"; "$@"; }
same() { [ "$1" = "$2" ] || { printf 'got:\n%s\nwanted:\n%s\n' "$1" "$2" >&2; exit 1; }; }

echo "kcat writes the shells of this machine; the key is the name."
if [ -r /etc/shells ]; then shells=$(grep '^/' /etc/shells); else shells=$(command -v sh bash); fi
while read -r path; do
  printf '%s=%s\n' "$(tr / - <<<"${path#/}")" "$path"
done <<<"$shells" | kcat -P -b "$kafka" -t "$topic" -K = -X acks=all
count=$(wc -l <<<"$shells")

echo "nats reads them: the stream is the topic, the subject TOPIC.KEY."
step nats consumer add "$topic" readers --pull --deliver all --ack explicit --replay instant --defaults >/dev/null
read=$(nats consumer next "$topic" readers --count "$count" --ack --raw)
same "$read" "$shells"
step nats stream get "$topic" 1

echo "nats publishes; kcat reads, with the key and the headers."
step nats pub --jetstream "$topic.from-nats" "hello from $(uname -s)" --header "lang: shell"
step kcat -C -b "$kafka" -t "$topic" -o -1 -c 1 -e -q -f '%k | %h | %s\n'
same "$(kcat -C -b "$kafka" -t "$topic" -o -1 -c 1 -e -q -f '%k %h %s')" "from-nats lang=shell hello from $(uname -s)"

echo "A key-value bucket is a topic of its own: each put is a record, a deleted key is one without a value."
step nats kv add "bucket-$$" --history 5 >/dev/null
step nats kv put "bucket-$$" colour blue
step nats kv put "bucket-$$" colour green
step nats kv del "bucket-$$" colour --force
step kcat -C -b "$kafka" -t "KV_bucket-$$" -o beginning -e -q -Z -f '%o %k = %s\n'
same "$(kcat -C -b "$kafka" -t "KV_bucket-$$" -o beginning -e -q -Z -f '%k=%s ')" \
  "\$KV.bucket-$$.colour=blue \$KV.bucket-$$.colour=green \$KV.bucket-$$.colour=NULL "

step nats stream rm "$topic" --force
step nats kv del "bucket-$$" --force
