"""A member of a room that shares no line with conch: paho-mqtt, OpenSSL, and PyCA's Ed25519.

Made from the documentation: "A client of another make" of go doc ./mqtt, and mqtt/PAIRING.md 6, 8 and 11.
"""
import base64, hashlib, hmac, json, os, secrets, socket, ssl, struct, threading, time

import paho.mqtt.client as paho
from cryptography.hazmat.primitives import serialization as ser
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

QOS = {"presence": 0, "ledger": 0}  # of the others 1


def base32(b):
    return base64.b32encode(b).decode().rstrip("=").lower()


def base64url(b):
    return base64.urlsafe_b64encode(b).decode().rstrip("=")


def public(key):
    return key.public_key().public_bytes(ser.Encoding.Raw, ser.PublicFormat.Raw)


def fingerprint(key):
    return base32(hashlib.sha256(public(key)).digest())[:20]


def tell(name, value):
    print("%s: %s" % (name, value), flush=True)


class Knocking:
    """The context of which paho asks a socket, under the host's name; the room's door wants a knock, another one each time."""

    check_hostname, verify_mode = False, ssl.CERT_NONE

    def __init__(self, member):
        self.member, self.context = member, member.context()

    def wrap_socket(self, s, server_hostname=None, **more):
        return self.context.wrap_socket(s, server_hostname=self.member.knock(), **more)


class Member:
    """One device of a room, by what stands in its state directory."""

    def __init__(self, state, address):
        self.state, self.host, self.port = state, *address.rsplit(":", 1)
        room = json.load(open(state + "/room/room.json"))
        self.room, self.ca, self.cert = room["room"], base64.b64decode(room["ca"]), base64.b64decode(room["cert"])
        self.key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(open(state + "/identity.key").read()))
        self.id = fingerprint(self.key)
        self.names = {m["id"]: m["name"] for m in room["members"]}
        self.others = sorted(set(self.names) - {self.id})
        self.lock = threading.RLock()
        self.heard, self.spoken, self.sent, self.put_out, self.refused = [], [], 0, 0, 0
        self.epoch, self.epochs, self.answers = 0, {}, []
        self.on_heard = lambda sender, e: None
        self.renew()

    # -- TLS

    def knock(self):
        nonce = base32(secrets.token_bytes(17))[:26]
        return nonce + "." + base32(hmac.new(self.ca, b"conch knock\0" + nonce.encode(), hashlib.sha256).digest()[:16]) + ".conch"

    def context(self, certificate=True, alpn="mqtt"):
        c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        c.check_hostname, c.verify_mode = False, ssl.CERT_NONE  # a liar asks nobody for papers
        if alpn:
            c.set_alpn_protocols([alpn])
        if certificate:
            path = self.state + "/member.pem"
            pem = self.key.private_bytes(ser.Encoding.PEM, ser.PrivateFormat.PKCS8, ser.NoEncryption()).decode()
            with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as f:
                f.write(pem + ssl.DER_cert_to_PEM_cert(self.cert))
            c.load_cert_chain(path)
            os.remove(path)
        return c

    def tcp(self):
        return socket.create_connection((self.host, int(self.port)), timeout=5)

    def raw(self):
        """An MQTT session without a library that would do as MQTT says."""
        s = self.context().wrap_socket(self.tcp(), server_hostname=self.knock())
        body = struct.pack(">H4sBBHH", 4, b"MQTT", 4, 2, 0xFFFF, len(self.id)) + self.id.encode()
        s.sendall(bytes([0x10, len(body)]) + body)
        if s.recv(4) != b"\x20\2\0\0":
            raise OSError("not let in")
        return s

    # -- envelopes

    def renew(self):
        self.session, self.began, self.seq = base64url(secrets.token_bytes(16)), time.monotonic(), 1
        self.believed, self.known = set(), set()

    def envelope(self, kind, method, params, forged=False, seq=None, session=None):
        with self.lock:
            if seq is None:
                self.seq += 1
                seq = self.seq
            session = session or self.session
        p = json.dumps(params).encode()
        signed = b"conch/v1 envelope"
        for part in (self.room, kind, method, session):
            signed += struct.pack(">I", len(part)) + part.encode()
        signed += struct.pack(">QI", seq, len(p)) + p
        sig = secrets.token_bytes(64) if forged else self.key.sign(signed)
        return b'{"jsonrpc":"2.0","method":"%s","params":%s,"key":"%s","session":"%s","seq":%d,"sig":"%s"}' % (
            method.encode(), p, base64url(public(self.key)).encode(), session.encode(), seq, base64url(sig).encode())

    def topic(self, kind, device=None):
        return "conch/v1/%s/%s/%s" % (self.room, kind, device or self.id)

    def publish(self, topic, payload, qos=0):
        self.sent += 1
        try:
            self.mqtt.publish(topic, payload, qos=qos)
        except OSError:  # paho 1.6 passes it on where it is being put out
            pass

    def say(self, kind, method, params, topic=None, forged=False):
        self.publish(self.topic(kind, topic), self.envelope(kind, method, params, forged), QOS.get(kind, 1))

    def beat(self, **more):
        beat = {"name": "pantry", "version": 2, "digest": "d1", "budgetMs": 0, "epoch": {"n": self.epoch, "device": ""}, "turns": 0}
        beat.update(more)
        self.say("presence", "presence.update", {"beat": beat})

    def press(self, n=None, device=None, **kw):
        self.epoch += 1
        n = self.epoch if n is None else n
        self.say("floor", "floor.press", {"epoch": {"n": n, "device": device or self.id}}, **kw)

    def message(self, text, who=None, number=1, n=None, **more):
        self.epoch += number == 1
        epoch = {"n": self.epoch if n is None else n, "device": self.id}
        return {"id": "m" + secrets.token_hex(8), "from": who or "human:" + self.id, "text": text, "epoch": epoch, "number": number,
                "metadata": {}, **more}

    def note(self, method, **body):
        """Gives the request's name, by which the answer is known."""
        body.setdefault("request", secrets.token_hex(8))
        self.say("members", "members." + method, body)
        return body["request"]

    # -- the client

    def connect(self, wait=5):
        version = {"callback_api_version": paho.CallbackAPIVersion.VERSION1} if hasattr(paho, "CallbackAPIVersion") else {}
        self.mqtt = paho.Client(client_id=self.id, **version)
        self.mqtt.tls_set_context(Knocking(self))
        self.mqtt.on_connect, self.mqtt.on_message, self.mqtt.on_disconnect = self.on_connect, self.on_message, self.on_disconnect
        self.mqtt.max_queued_messages_set(1000)
        self.mqtt.reconnect_delay_set(1, 2)
        self.mqtt.connect_async(self.host, int(self.port), keepalive=20)
        threading.Thread(target=self.loop, daemon=True).start()
        end = time.monotonic() + wait
        while not self.believed and time.monotonic() < end:
            time.sleep(0.02)
        return bool(self.believed)

    def loop(self):
        while True:
            try:  # paho 1.6 gives up where a broker puts it out while it is being let in
                self.mqtt.loop_forever(retry_first_connection=True)
            except (OSError, ValueError):
                self.put_out += 1
                time.sleep(0.2)

    def on_connect(self, client, data, flags, rc):
        if rc:
            self.refused += 1
            return
        self.renew()
        client.subscribe("conch/v1/" + self.room + "/+/+")
        self.say("presence", "presence.hello", {})

    def on_disconnect(self, *_):
        self.put_out += 1

    def on_message(self, client, data, m):
        try:
            e = json.loads(m.payload)
        except ValueError:
            return
        kind, sender = m.topic.split("/")[3:5]
        if sender == self.id:
            return
        params = e.get("params") or {}
        if e["method"] == "presence.hello":
            self.hello(sender, e, params)
            return
        self.heard.append(m.payload.decode())
        self.spoken.append((m.payload.decode(), m.topic))
        told = (params.get("beat") or params).get("epoch") or {}
        if "beat" in params or e["method"] == "floor.press":
            self.epochs[sender] = (told.get("n", 0), told.get("device", ""))
            if told.get("n", 0) < self.epoch + 10000:
                self.epoch = max(self.epoch, told.get("n", 0))
        if kind == "members" and params.get("to") == self.id:
            self.answers.append((e["method"].split(".")[1], params.get("why", ""), params.get("request", "")))
        self.on_heard(sender, e)

    def hello(self, sender, e, params):
        if any(h["session"] == self.session for h in params.get("heard") or []):
            self.believed.add(sender)
        if self.id not in (params.get("prove") or []) and e["session"] in self.known:
            return
        self.known.add(e["session"])
        age = int((time.monotonic() - self.began) * 1000) + 1
        self.say("presence", "presence.hello", {"prove": [] if sender in self.believed else [sender], "heard": [
            {"session": e["session"], "hello": e["seq"], "ageMs": age, "since": self.seq + 1}]})
