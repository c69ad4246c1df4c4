"""Every pair of a Kafka and a NATS client writes and reads the same topics. Run by ../clients/run, or as

    python cross.py KAFKA NATS BROKERD GO JARS

with the addresses of a broker, its binary, the binary of main.go beside this file, and the directory of kafka-clients' jars.
Prints, for each writer and reader, how many of the records arrived as they were; what a client itself cannot write or
show is left out, and counted. Exit code 1 if anything else differs.
"""
import asyncio
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse

import nats

KAFKA, NATS, BROKERD, GO, JARS = sys.argv[1:6]
HERE = os.path.dirname(os.path.abspath(__file__))

# What is written: key, value, headers. None is null.
RECORDS = {
    "text": (b"k", b"v", []),
    "tokens": (b"eu.berlin.7", b"v", []),
    "UTF-8": ("größe".encode(), "ü".encode(), []),
    "no key": (None, b"v", []),
    "empty key": (b"", b"v", []),
    "binary key": (b"\x01\xff", b"v", []),
    "NUL in the key": (b"\x00", b"v", []),
    "space in the key": (b"a b", b"v", []),
    "wildcard in the key": (b"a.*", b"v", []),
    "null value": (b"k", None, []),
    "empty value": (b"k", b"", []),
    "binary value": (b"k", b"\x00\r\n\xff", []),
    "header": (b"k", b"v", [("a", "ü".encode())]),
    "repeated header": (b"k", b"v", [("a", b"1"), ("a", b"2")]),
    "empty header": (b"k", b"v", [("a", b"")]),
    "null header": (b"k", b"v", [("a", None)]),
    "binary header": (b"k", b"v", [("a", b"\x00\xff")]),
    "CR LF in a header": (b"k", b"v", [("a", b"1\r\n2")]),
    "odd header name": (b"k", b"v", [("a b", b"1")]),
    "reserved header name": (b"k", b"v", [("Kafka-Key", b"x")]),
}


def run(*command, stdin=b""):
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=90)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr.decode()} {done.stdout.decode()}")
    return done.stdout


# ---- the rules of docs/mapping.md, as a NATS client follows them ----

def is_text(b):
    try:
        return b.decode().isprintable()
    except UnicodeDecodeError:
        return False


def is_subject(key):
    return is_text(key) and b" " not in key and all(t not in (b"", b"*", b">") for t in key.split(b"."))


def is_plain(name, value):
    return (re.fullmatch(r"[!-9;-~]+", name) and not name.startswith("Kafka-") and value is not None
            and is_text(value) and value.strip() == value)


def to_nats(topic, record):
    key, value, headers = record
    subject, lines = topic, []
    if key is not None and is_subject(key):
        subject += "." + key.decode()
    elif key is not None:
        lines.append(("Kafka-Key", base64.b64encode(key).decode()))
    if value is None:
        lines.append(("Kafka-Value", "null"))
    for name, v in headers:
        if is_plain(name, v):
            lines.append((name, v.decode()))
        else:
            escaped = urllib.parse.quote(name, safe="!\"#$&'()*+,/:;<>?@[\\]^`{|}~")
            lines.append(("Kafka-Header", escaped if v is None else f"{escaped}={base64.b64encode(v).decode()}"))
    return subject, lines, value or b""


def from_nats(topic, subject, lines, data):
    key = subject[len(topic) + 1:].encode() if subject != topic else None
    value, headers = data, []
    for name, v in lines:
        if name == "Kafka-Key":
            key = base64.b64decode(v)
        elif name == "Kafka-Value":
            value = None
        elif name == "Kafka-Header":
            escaped, found, encoded = v.partition("=")
            headers.append((urllib.parse.unquote(escaped), base64.b64decode(encoded) if found else None))
        else:
            headers.append((name, v.encode()))
    return key, value, headers


# ---- the clients: write(topic, records), and read(topic, count) ----

def as_json(record):
    code = lambda b: None if b is None else base64.b64encode(b).decode()
    key, value, headers = record
    return json.dumps({"key": code(key), "value": code(value), "headers": [[code(n.encode()), code(v)] for n, v in headers]})


def from_json(line):
    code = lambda s: None if s is None else base64.b64decode(s)
    r = json.loads(line)
    return code(r["key"]), code(r["value"]), [(code(n).decode(), code(v)) for n, v in r["headers"] or []]


class Program:
    """A client in a program of its own that speaks JSON."""
    def __init__(self, *command):
        self.command = command

    cannot_write = cannot_show = set()

    def write(self, topic, records):
        run(*self.command, "write", topic, stdin="\n".join(map(as_json, records)).encode())

    def read(self, topic, count):
        return [from_json(line) for line in run(*self.command, "read", topic, str(count)).splitlines()]


class Kcat:
    cannot_write = {"empty key", "NUL in the key", "binary header", "null header", "empty header"}  # arguments of a command
    cannot_show = {"null header", "empty header", "binary header", "empty key"}  # its format writes them alike

    def write(self, topic, records):
        for key, value, headers in records:
            args = ["kcat", "-P", "-b", KAFKA, "-t", topic, "-p", "0"]
            if not value:  # it sends no empty file, but a line that ends after the key
                run(*args, "-K", ":", *(["-Z"] if value is None else []), stdin=key + b":\n")
                continue
            args += [] if key is None else [b"-k", key]
            for name, v in headers:
                args += [b"-H", name.encode() + b"=" + v]
            with tempfile.NamedTemporaryFile() as f:
                f.write(value)
                f.flush()
                run(*args, f.name)

    def read(self, topic, count):
        return [self.one(topic, offset) for offset in range(count)]

    def one(self, topic, offset):
        out = run("kcat", "-C", "-q", "-b", KAFKA, "-t", topic, "-p", "0", "-o", str(offset), "-c", "1", "-e",
                  "-f", "%K %S\n%k%s%h")
        sizes, _, rest = out.partition(b"\n")
        key_size, value_size = map(int, sizes.split())
        take = lambda n, at: None if n < 0 else rest[at:at + n]
        key = take(key_size, 0)
        value = take(value_size, max(key_size, 0))
        headers = rest[max(key_size, 0) + max(value_size, 0):]
        return key or None, value, [tuple(h.decode().split("=", 1)) for h in headers.split(b",")] if headers else []


class NatsPy:
    cannot_write = {"repeated header"}  # its headers are a dict
    cannot_show = {"repeated header"}

    def write(self, topic, records):
        async def go():
            connection = await nats.connect(f"nats://{NATS}")
            for r in records:
                subject, lines, data = to_nats(topic, r)
                await connection.jetstream().publish(subject, data, headers=dict(lines) or None, timeout=30)
            await connection.close()
        asyncio.run(go())

    def read(self, topic, count):
        async def go():
            connection = await nats.connect(f"nats://{NATS}")
            consumer = await connection.jetstream().pull_subscribe(">", stream=topic)
            seen = []
            while len(seen) < count:
                for m in await consumer.fetch(count - len(seen), timeout=30):
                    seen.append(from_nats(topic, m.subject, list((m.headers or {}).items()), m.data))
                    await m.ack()
            await connection.close()
            return seen
        return asyncio.run(go())


class NatsCli:
    cannot_write = cannot_show = set()

    def write(self, topic, records):
        for r in records:
            subject, lines, data = to_nats(topic, r)
            args = ["nats", "-s", NATS, "pub", "--jetstream", "--quiet", "--force-stdin"]
            for name, v in lines:
                args += ["-H", f"{name}:{v}"]
            run(*args, subject, stdin=data)

    def read(self, topic, count):
        return [self.one(topic, sequence) for sequence in range(1, count + 1)]

    def one(self, topic, sequence):
        m = json.loads(run("nats", "-s", NATS, "stream", "get", topic, str(sequence), "--json"))
        block = base64.b64decode(m.get("hdrs") or "").decode().split("\r\n")[1:]
        lines = [(name, v[1:]) for name, _, v in (line.partition(":") for line in block if line)]
        return from_nats(topic, m["subject"], lines, base64.b64decode(m.get("data") or ""))


CLIENTS = {
    "kgo": Program(GO, "kgo", KAFKA), "Java": Program("java", "-cp", f"{JARS}/*", f"{HERE}/Cross.java", KAFKA), "kcat": Kcat(),
    "nats.go": Program(GO, "nats.go", NATS), "nats-py": NatsPy(), "nats": NatsCli(),
}


def comparable(record, reader):
    """NATS clients keep headers in a map, and Kafka's see the block of one that they would not have written."""
    key, value, headers = record
    headers = [(n, v) for n, v in headers if not (n == "nats.header" and (v or b"")[:5] in (b"NATS/", "NATS/"))]
    if reader == "kcat":
        headers = [(n, v.decode(errors="replace") if isinstance(v, bytes) else v) for n, v in headers]
    return key, value, sorted(headers, key=lambda h: h[0])


def main():
    table, faults, checks = [], 0, 0
    for n, (writer, w) in enumerate(CLIENTS.items()):
        topic = f"cross-{os.getpid()}-{n}"
        run(BROKERD, "topic", "create", topic, "--server", KAFKA)
        written = {what: r for what, r in RECORDS.items() if what not in w.cannot_write}
        w.write(topic, written.values())
        row = [writer, f"{len(written)}"]
        for reader, r in CLIENTS.items():
            try:
                seen = r.read(topic, len(written))
            except Exception as e:  # a client that fails is a fault of this pair alone
                print(f"{writer} to {reader}: {e}")
                faults += 1
                row.append("failed")
                continue
            same = 0
            for (what, sent), got in zip(written.items(), seen):
                if what in r.cannot_show:
                    continue
                if comparable(sent, reader) == comparable(got, reader):
                    same += 1
                else:
                    print(f"{writer} to {reader}, {what}: {sent} arrived as {got}")
                    faults += 1
            checks += same
            hidden = sum(what in r.cannot_show for what in written)
            row.append(f"{same}" + (f" (+{hidden})" if hidden else ""))
        table.append(row)
    print("| writer | records | " + " | ".join(CLIENTS) + " |")
    print("|---" * (len(CLIENTS) + 2) + "|")
    for row in table:
        print("| " + " | ".join(row) + " |")
    for name, c in CLIENTS.items():
        if c.cannot_write or c.cannot_show:
            say = lambda what: ", ".join(sorted(what))
            print(f"excepted {name} itself cannot write: {say(c.cannot_write)}; cannot show: {say(c.cannot_show)}")
    print(f"{'FAILED' if faults else 'ok'} cross all {checks + faults} {checks}")
    sys.exit(1 if faults else 0)


main()
