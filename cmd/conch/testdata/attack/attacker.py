#!/usr/bin/python3
"""A member that lies, one kind of lie a run, with a client that is not conch's (member.py).

    attacker.py STATE-DIRECTORY HOST:PORT KIND SECONDS

What it has seen is "name: value" lines; cmd/conch/attack_test.go says what they have to be.
"""
import base64, hashlib, json, random, secrets, socket, ssl, struct, sys, time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from member import Member, fingerprint, public, tell

LIE = "\x1b]52;c;bGllcw==\x07\u009b2J\r\nconch: lie\u202e"
EVE = [{"id": "eve", "name": "Eve"}]
FAR = [1 << 32, (1 << 32) * 3, 1 << 53, (1 << 64) - 1]


def every(m, seconds, rate, do, cards=EVE):
    """Calls do(0), do(1) ... at a rate, beating each second meanwhile."""
    end, n, next_beat, next_do = time.monotonic() + seconds, 0, 0.0, time.monotonic()
    while time.monotonic() < end:
        if time.monotonic() >= next_beat:
            next_beat = time.monotonic() + 1
            m.beat(**({"cards": cards} if n == 0 else {}))
        do(n)
        n += 1
        next_do += 1 / rate
        time.sleep(max(0, min(next_do, end) - time.monotonic()))


def epochs(m, seconds):
    """Beats with anybody's epoch, as an old conch and as a new one, and presses that jump; fewer than a person may press."""
    lies = []
    for far in FAR:
        for device in m.others + [m.id, "z" * 20]:
            for version in (1, 2):
                lies.append(lambda far=far, device=device, version=version: m.beat(version=version, turns=far, epoch={"n": far, "device": device}))
        lies.append(lambda far=far: m.press(far))
        lies.append(lambda far=far: m.say("messages", "message.send", m.message("jump", n=far)))
        for device in m.others:
            lies.append(lambda far=far, device=device: m.press(far, device=device))
    every(m, seconds, len(lies) / seconds, lambda n: n < len(lies) and lies[n]())


def listens(m, seconds):
    """Hears all that a member is told, and asks for more: what was said, by all who have said it, and their ledgers."""
    every(m, seconds, 0.5, lambda n: m.say("presence", "presence.update", {"historyAsk": {}}))
    for device, (n, of) in sorted(m.epochs.items()):
        tell("epoch " + m.names.get(device, device), "%d@%s" % (n, of))


def unreading(m, seconds):
    """Subscribes to all, says what it will hear itself, and does not read."""
    end, payload = time.monotonic() + seconds, b"x" * 250000
    topic = m.topic("messages").encode()
    body = struct.pack(">H", len(topic)) + topic + payload
    dropped = tries = said = 0
    while time.monotonic() < end:
        tries += 1
        try:
            s = m.raw()
            subscribe(s, 1, ["conch/v1/%s/+/+" % m.room])
            while time.monotonic() < end:
                s.sendall(b"\x30" + varint(len(body)) + body)
                said += len(body)
        except OSError:
            dropped += 1
            time.sleep(0.2)
    tell("said", said)
    tell("put out", "%d of %d" % (dropped, tries))


def subscriptions(m, seconds):
    """180,000 of them, as many as a packet holds, and in packets of 250 kB."""
    end, made, dropped, tries, size = time.monotonic() + seconds, 0, 0, 0, 80
    while time.monotonic() < end and made < 180000:
        tries += 1
        try:
            s = m.raw()
            while time.monotonic() < end and made < 180000:
                subscribe(s, 1 + made % 60000, ["conch/v1/%s/states/x%d" % (m.room, made + i) for i in range(size)])
                made += size
        except OSError:
            dropped += 1
            size = 4000 if size == 80 else 80
            time.sleep(0.2)
    tell("asked for", made)
    tell("put out", "%d of %d" % (dropped, tries))


def varint(n):
    out = b""
    while True:
        n, low = n >> 7, n & 0x7F
        out += bytes([low | (0x80 if n else 0)])
        if not n:
            return out


def subscribe(s, packet, filters):
    body = struct.pack(">H", packet) + b"".join(struct.pack(">H", len(f)) + f.encode() + b"\0" for f in filters)
    s.sendall(b"\x82" + varint(len(body)) + body)


def history(m, seconds):
    """Answers whoever asks what was said: with its own line (turnip), as it may, and with everybody else's (swordfish)."""
    def answer(sender, e):
        if "historyAsk" not in (e.get("params") or {}):
            return
        tell("asked by", m.names.get(sender, sender))
        lies, plain = [], []
        for who in ["human:" + d for d in m.others] + ["ada", "ben"]:
            said = m.message("the password is swordfish", who, number=2)
            plain.append(said)
            for forged in (False, True):
                lies.append(m.envelope("messages", "message.send", said, forged, seq=0).decode())
        for text in [h for h in m.heard if '"message.send"' in h][-4:]:  # a true one with other words
            lies.append(text.replace('"text":"', '"text":"swordfish '))
        own = m.envelope("messages", "message.send", m.message("the pantry has a turnip", n=1), seq=0).decode()
        m.say("messages", "message.history", {"to": sender, "messages": plain, "envelopes": []})
        m.say("messages", "message.history", {"to": sender, "messages": plain, "envelopes": [own] + lies})
    m.on_heard = answer

    def unasked(n):
        said = m.message("the password is swordfish", "ada", number=2)
        text = m.envelope("messages", "message.send", said, seq=0).decode()
        for device in m.others:
            m.say("messages", "message.history", {"to": device, "messages": [said], "envelopes": [text]})
    every(m, seconds, 0.5, unasked)


STRANGER = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"a stranger").digest())


def admit(m, window):
    return m.note("admit", device=fingerprint(STRANGER), key=base64.b64encode(public(STRANGER)).decode(), name="guest", window=window)


def answer(m, request, wait=3):
    end = time.monotonic() + wait
    while time.monotonic() < end:
        for what, why, of in m.answers:
            if of == request:
                return (what + " " + why).strip()
        time.sleep(0.02)
    return "nothing"


def admission(m, seconds):
    """Lets a stranger in: without a window, by one nobody had time to hear, by one that a person shuts, and as if it kept the room."""
    m.beat(cards=EVE)
    tell("without a window", answer(m, admit(m, "")))
    tell("by a window of another name", answer(m, admit(m, secrets.token_hex(8))))
    window = m.note("open")
    tell("at once", answer(m, admit(m, window)))
    tell("open", window)  # from now on somebody presses a button
    every(m, 8, 2, lambda n: None)
    tell("after a press", answer(m, admit(m, window)))
    members = [{"id": d, "name": n} for d, n in m.names.items()] + [{"id": fingerprint(STRANGER), "name": "guest", "key": base64.b64encode(public(STRANGER)).decode()}]
    for version in (1000, 1 << 40):
        m.note("list", room=m.room, version=version, members=members)
    m.note("admitted", to=m.others[0], welcome={})
    m.note("moved", to=m.id)
    for d in m.others:
        m.note("renewed", to=d, cert=base64.b64encode(m.cert).decode())
    every(m, 2, 2, lambda n: None)


def heard(m, seconds):
    """Lets a stranger in by a window that all have heard of, and that nobody shuts."""
    m.beat(cards=EVE)
    window = m.note("open")
    every(m, 8, 2, lambda n: None)
    tell("after all have heard", answer(m, admit(m, window)))


def floods(what):
    payload = b"x" * 250000

    def flood(m, seconds):
        do = {
            "junk": (lambda n: m.publish(m.topic("floor"), b"junk %d" % n), 1000),
            "forged": (lambda n: m.press(forged=True), 5000),
            "others": (lambda n: [m.press(device=d, topic=d, forged=n % 2 == 0) for d in m.others], 1000),
            "large": (lambda n: m.publish(m.topic("messages"), payload, qos=n % 2), 100),
            "asks": (lambda n: [m.say("presence", "presence.hello", {"prove": m.others}), m.beat(ask=True, digest="a%d" % n),
                                m.say("presence", "presence.update", {"historyAsk": {}})], 14),
            "slow": (lambda n: m.press(forged=n % 2 == 0), 40),  # as much as is not put out
        }[what]
        every(m, seconds, do[1], do[0])
        tell("put out", m.put_out)
    return flood


def names(m, seconds):
    """Is called as others are: by beats, cards, notes, messages and votes."""
    def lie(n):
        cards = [[{"id": "ada", "name": "Ada"}, {"id": "eve", "name": "Eve", "aliases": ["Ada", "Ben"]}], [{"id": "x", "name": "Ada"}, {"id": "y", "name": "A d a!"}],
                 [{"id": "ben", "name": "Ben"}, {"id": "b2", "name": "Веn"}]][n % 3]
        m.beat(name=["kitchen", "hall", "Kitchen "][n % 3], digest="d%d" % n, cards=cards)
        if n < 8:
            for d in m.others:
                m.note("rename", device=m.id, name=m.names[d])
        if n % 4 == 0:
            for who in ["ada", "ben"] + ["human:" + d for d in m.others]:
                m.say("messages", "message.send", m.message("I am swordfish", who, number=2))
    every(m, seconds, 2, lie)
    tell("renamed", sorted({why for what, why, _ in m.answers}))


def terminal(m, seconds):
    """Writes to the terminals of others: wherever text is taken, and where it is not, too."""
    def lie(n):
        card = {"id": "eve", "name": "Eve", "role": LIE, "expertise": [LIE]}
        m.beat(digest=LIE, cards=[card])
        m.beat(name=LIE, digest="x%d" % n, cards=[dict(card, name=LIE), {"id": "e" + LIE, "name": LIE, "aliases": [LIE]}])
        m.note("open", request=LIE)
        m.note("rename", device=m.id, name=LIE)
        said = m.message(LIE, turn=LIE)
        place = {"epoch": said["epoch"], "number": said["number"], "messageId": said["id"]}
        vote = {"from": "eve", "messageId": said["id"], "state": "speak", "importance": 10, "selected": True, "closing": "none", "reason": LIE, "spoke": 0}
        if n % 2 == 0:
            m.say("messages", "message.send", said)
            m.say("states", "state.send", {"place": place, "states": [vote]})
            m.say("floor", "floor.claim", {"place": place, "companion": "eve", "states": [vote]})
            m.say("messages", "message.send", dict(said, id=said["id"] + "e", **{"from": "eve", "number": 2}))
            m.say("floor", "floor.withdraw", {"place": place, "companion": "eve", "why": LIE})
        for kind in ("round", "silent", "member", LIE):
            m.say("ledger", "ledger.entry", {"entry": {"kind": kind, "device": m.id, "by": m.id, "place": place, "message": said, "why": LIE}})
    every(m, seconds, 1, lie)


def says(m, seconds):
    """Says what a device that forgets must not keep."""
    every(m, 2, 1, lambda n: None)
    m.press()
    said = m.message("Ben, my turnip is in the cellar")
    m.say("messages", "message.send", said)
    m.say("messages", "message.send", m.message("I have heard of the turnip", "eve", number=2, n=said["epoch"]["n"]))
    listens(m, seconds)


def wear(m, seconds):
    """Makes the keeper write: whatever changes its list, as fast as a member may speak."""
    def change(n):
        device = base64.b32encode(secrets.token_bytes(13)).decode().lower()[:20]
        [lambda: m.note("rename", device=m.others[n % 2], name="mine%d" % n), lambda: m.note("remove", device=device), lambda: m.note("open"),
         lambda: m.note("renew", key=base64.b64encode(public(m.key)).decode()), lambda: m.note("ask", have=n), lambda: admit(m, "")][n % 6]()
    every(m, seconds, 30, change)


def presses(m, seconds):
    """Presses without end."""
    every(m, seconds, 8, lambda n: m.press())
    tell("put out", m.put_out)


def words(m, seconds):
    """Talks without end, and without a button: as much as is not put out."""
    every(m, seconds, 8, lambda n: m.say("messages", "message.send", m.message("Ada, Ben, " + "w%d " % n * 500)))
    tell("put out", m.put_out)


def cards(m, seconds):
    """Brings other companions with each beat."""
    def bring(n):
        m.beat(digest="c%d" % n, cards=[{"id": "c%d-%d" % (n, i), "name": "C%d %d" % (n, i), "role": "r" * 900} for i in range(8)])
    every(m, seconds, 8, bring)
    tell("put out", m.put_out)


def leaves(m, seconds):
    """Comes and goes."""
    every(m, seconds, 40, lambda n: m.beat(left=n % 2 == 1, **({"cards": EVE} if n % 2 == 0 else {})))
    tell("put out", m.put_out)


def claims(m, seconds):
    """Takes the floor whoever was called, takes it back, and again, with every vote in its favour."""
    m.beat(cards=EVE)

    def claim(sender, e):
        p = e.get("params") or {}
        if e["method"] != "message.send" or not p.get("from", "").startswith("human:"):
            return
        place = {"epoch": p["epoch"], "number": p["number"], "messageId": p["id"]}
        vote = {"from": "eve", "messageId": p["id"], "state": "speak", "importance": 10, "selected": True, "closing": "none", "reason": "so", "spoke": 0}
        m.say("states", "state.send", {"place": place, "states": [vote]})
        for _ in range(15):
            m.say("floor", "floor.claim", {"place": place, "companion": "eve", "states": [vote], "instead": ["ada", "ben"]})
            m.say("floor", "floor.speaking", {"place": place, "companion": "eve", "leftMs": 60000})
            m.say("floor", "floor.withdraw", {"place": place, "companion": "eve", "why": "so"})
        m.say("floor", "floor.claim", {"place": place, "companion": "eve", "states": [vote], "instead": ["ada", "ben"]})
    m.on_heard = claim
    every(m, seconds, 1, lambda n: None)


def silences(m, seconds):
    """Says of whatever a person has said that nobody has answered it."""
    def silent(sender, e):
        p = e.get("params") or {}
        if e["method"] == "message.send" and p.get("from", "").startswith("human:"):
            for i in range(1, 9):
                said = {**m.message("", number=p["number"] + i), "epoch": p["epoch"], "metadata": {"silence": True}}
                m.say("messages", "message.send", said)
                time.sleep(0.02)
    m.on_heard = silent
    every(m, seconds, 1, lambda n: None)


NONSENSE = [None, True, -1, 1 << 63, 1e308, "", "x" * 2000, [], [None] * 50, {}, {"n": -1, "device": 5}, {"a": {"b": {"c": {"d": []}}}}]


def twisted(rnd, v):
    """The same with something else in one place of it."""
    if isinstance(v, dict) and v and rnd.random() < 0.9:
        k = rnd.choice(sorted(v))
        return dict(v, **{k: twisted(rnd, v[k])})
    if isinstance(v, list) and v and rnd.random() < 0.9:
        i = rnd.randrange(len(v))
        return v[:i] + [twisted(rnd, v[i])] + v[i + 1:]
    return rnd.choice(NONSENSE)


def nonsense(m, seconds):
    """What others have said, as its own, with something else in it; and as they have said it."""
    rnd = random.Random(1)

    def say(n):
        if not m.heard:
            return
        text, topic = rnd.choice(m.spoken[-200:])
        e = json.loads(text)
        if n % 4 == 0:
            m.publish(m.topic(topic.split("/")[3]), text)
            return
        own = json.loads(json.dumps(e["params"]).replace(topic.split("/")[4], m.id))
        m.say(topic.split("/")[3], e["method"], twisted(rnd, own))
    every(m, seconds, 40, say)
    tell("put out", m.put_out)


def sessions(m, seconds):
    """What MQTT has besides: others' client ids, wills and topics, what is kept, QoS 2, and connections without end."""
    def attempt(what, connect, then=b"", skip=0):
        try:
            s = m.context().wrap_socket(m.tcp(), server_hostname=m.knock())
            s.sendall(connect)
            got = s.recv(4)
            s.sendall(then)
            s.settimeout(1)
            if skip:
                s.recv(skip)
            answer = s.recv(64) if then else b"-"
            tell(what, ("let in" if got == b"\x20\2\0\0" else "refused") + ({b"-": "", b"": ", then put out"}.get(answer, ", then answered " + answer.hex())))
        except socket.timeout:
            tell(what, "let in, then nothing")
        except OSError as e:
            tell(what, "refused (%s)" % (getattr(e, "reason", "") or e))
    field = lambda b: struct.pack(">H", len(b)) + b
    packet = lambda first, body: bytes([first]) + varint(len(body)) + body
    connect = lambda who, flags=2, more=b"": packet(0x10, field(b"MQTT") + bytes([4, flags]) + b"\xff\xff" + field(who.encode()) + more)
    publish = lambda first, topic, middle=b"": packet(first, field(topic.encode()) + middle + b"{}")
    other = m.others[0]
    attempt("another's id", connect(other))
    attempt("no id", connect(""))
    attempt("a will that is kept", connect(m.id, 0x26, field(m.topic("presence").encode()) + field(b"{}")))
    attempt("a session that is kept", connect(m.id, 0))
    attempt("a name and a password", connect(m.id, 0xC2, field(b"admin") + field(b"admin")))
    attempt("kept", connect(m.id), publish(0x31, m.topic("floor")))
    attempt("what was kept", connect(m.id), packet(0x82, b"\0\1" + field(m.topic("floor").encode()) + b"\0"), 5)
    attempt("QoS 2", connect(m.id), publish(0x34, m.topic("floor"), b"\0\1"))
    attempt("to all", connect(m.id), publish(0x30, "conch/v1/%s/+/%s" % (m.room, m.id)))
    attempt("to the broker", connect(m.id), publish(0x30, "$SYS/broker"))
    attempt("another room", connect(m.id), packet(0x82, b"\0\1" + field(b"conch/v1/+/+/+") + b"\0"))
    attempt("everything", connect(m.id), packet(0x82, b"\0\1" + field(b"#") + b"\0"))
    attempt("a packet of 256 MB", connect(m.id), b"\x30\xff\xff\xff\x7f")
    attempt("another's will", connect(m.id, 6, field(m.topic("presence", other).encode()) + field(b"{}")))
    end, n = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        n += 1
        try:
            m.raw().close()
        except OSError:
            time.sleep(0.01)
    tell("connections", n)


def settings(m, seconds):
    """Mutes the whole room for ever: by numbers that nobody's can exceed."""
    numbers = [1 << 53, (1 << 53) + 1, (1 << 53) - 1, 1 << 52, (1 << 52) + 1, (1 << 64) - 1]
    every(m, seconds, 2, lambda n: m.beat(room={"muted": True, "involvement": "off", "n": numbers[n % len(numbers)], "by": (m.others + [m.id])[n % 3]}))


def silent(m, seconds):
    """Connections that say nothing at the door where others pair, before and behind TLS."""
    held, end, n = [], time.monotonic() + seconds, 0
    while time.monotonic() < end:
        n += 1
        try:
            s = m.tcp()
            held.append(s if n % 2 else m.context(False, "conch-pair/1").wrap_socket(s))
        except OSError:
            pass
        if n == 28:
            tell("open", len(held))
        time.sleep(0.05)
    tell("held", len(held))


def stranger(m, seconds):
    """Any TLS client: does what it is shown tell device or room?"""
    known = [m.room, m.ca.hex()] + list(m.names) + list(m.names.values())
    for alpn in ("mqtt", "", "conch-pair/1", "conch-keep/1", "h2"):
        for name in (None, "conch", m.room, m.host, m.knock()[:-8] + "aa.conch"):
            try:
                s = m.context(False, alpn).wrap_socket(m.tcp(), server_hostname=name)
                shown = s.getpeercert(True)
                told = [x for x in known if x.encode() in shown]
                tell("shown", "%s %s: %s" % (alpn or "-", "a name" if name else "-", told or "nothing"))
            except OSError as e:
                tell("shown", "%s %s: no handshake (%s)" % (alpn or "-", "a name" if name else "-", getattr(e, "reason", e)))


ALONE = {"unreading": unreading, "subscriptions": subscriptions, "silent": silent, "stranger": stranger, "sessions": sessions}  # without a client beside
KINDS = {"epochs": epochs, "listens": listens, "history": history, "admission": admission, "heard": heard, "names": names, "terminal": terminal, "says": says,
         "wear": wear, "presses": presses, "settings": settings,
         "words": words, "cards": cards, "leaves": leaves, "claims": claims, "silences": silences, "nonsense": nonsense, **{what: floods(what) for what in ("junk", "forged", "others", "large", "asks", "slow")}}


def main(state, address, kind, seconds):
    m = Member(state, address)
    if kind in ALONE:
        ALONE[kind](m, float(seconds))
        return
    tell("believed", m.connect())
    KINDS[kind](m, float(seconds))
    tell("sent", m.sent)
    tell("heard", len(m.heard))
    tell("refused", m.refused)
    for h in m.heard:
        for word in ("swordfish", "chestnut"):
            if word in h:
                tell("secret", h[:300])


main(*sys.argv[1:])
