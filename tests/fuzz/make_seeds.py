#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets frame_view, dns_message, stamp, capture_file and followed_capture into corpus/ beside this file.

Each seed is a small valid message of one kind, so that mutations reach behind the first length checks.
"""
import pathlib
import socket
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"
IP4 = socket.inet_aton("198.18.0.1"), socket.inet_aton("198.18.1.2")
IP6 = socket.inet_pton(socket.AF_INET6, "2001:db8::1"), socket.inet_pton(socket.AF_INET6, "2001:db8::2")


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def fill(segment, offset, pseudo):
    value = checksum(pseudo + segment)
    return segment[:offset] + struct.pack(">H", value or 0xFFFF) + segment[offset + 2:]


def pseudo(addresses, protocol, length):
    return b"".join(addresses) + struct.pack(">IHBB", length, 0, 0, protocol)


def udp(addresses, source, destination, data):
    length = 8 + len(data)
    segment = struct.pack(">4H", source, destination, length, 0) + data
    return fill(segment, 6, pseudo(addresses, 17, length))


def tcp(addresses, data, options=b""):
    head = struct.pack(">HHIIBBHHH", 40000, 80, 1, 2, (5 + len(options) // 4) << 4, 0x18, 8192, 0, 0)
    segment = head + options + data
    return fill(segment, 16, pseudo(addresses, 6, len(segment)))


def echo(kind, addresses=None):
    segment = struct.pack(">BBHHH", kind, 0, 0, 7, 1) + b"ping data"
    return fill(segment, 2, pseudo(addresses, 58, len(segment)) if addresses else b"")


def ipv4(protocol, data, options=b"", fragment=0x4000):
    ihl = 5 + len(options) // 4
    head = struct.pack(">BBHHHBBH", 0x40 | ihl, 0, ihl * 4 + len(data), 1, fragment, 64, protocol, 0)
    return fill(head + b"".join(IP4) + options, 10, b"") + data


def ipv6(protocol, data):
    return struct.pack(">IHBB", 6 << 28, len(data), protocol, 64) + b"".join(IP6) + data


def ethernet(kind, data, tags=b""):
    return bytes.fromhex("020000000002020000000001") + tags + struct.pack(">H", kind) + data


def vxlan(inner):
    return struct.pack(">II", 0x08000000, 42 << 8) + inner


def geneve(inner, options=b""):
    return struct.pack(">BBHI", len(options) // 4, 0, 0x6558, 42 << 8) + options + inner


def gre(inner):
    return fill(struct.pack(">HHHHI", 0xA000, 0x0800, 0, 0, 42) + inner, 4, b"")


def crc32c(data):
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0x82F63B78 if remainder & 1 else 0)
    return remainder ^ 0xFFFFFFFF


def sctp(data):
    head = struct.pack(">HHI", 5000, 3868, 0x01020304)
    chunk = struct.pack(">HHIHHI", 3, 16 + len(data), 1, 0, 0, 0) + data
    return head + struct.pack("<I", crc32c(head + bytes(4) + chunk)) + chunk


def udp_lite(addresses, coverage, data):
    segment = struct.pack(">4H", 1, 2, coverage, 0) + data
    covered = fill(segment[:coverage], 6, pseudo(addresses, 136, len(segment)))
    return covered + segment[coverage:]


def name(text):
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".")) + b"\0"


def message(flags, counts, *parts):
    return struct.pack(">6H", 0x1234, flags, *counts) + b"".join(parts)


def question(text, kind):
    return name(text) + struct.pack(">HH", kind, 1)


def record(owner, kind, data):
    return owner + struct.pack(">HHIH", kind, 1, 30, len(data)) + data


def frames():
    inner4 = ethernet(0x0800, ipv4(6, tcp(IP4, b"inner data")))
    inner6 = ethernet(0x86DD, ipv6(17, udp(IP6, 1, 53, b"inner")), b"\x81\x00\x00\x05")
    options = bytes([44, 0, 1, 4, 0, 0, 0, 0])
    atomic = bytes([17, 0, 0, 0, 1, 2, 3, 4])
    route = bytes([6, 4, 4, 1, 1, 0, 0, 0]) + IP6[1] + IP6[0]
    last_hop = (IP6[0], IP6[1])
    return {
        "udp4": ethernet(0x0800, ipv4(17, udp(IP4, 10000, 53, b"hello"))),
        "tcp4-options": ethernet(0x0800, ipv4(6, tcp(IP4, b"x", b"\1\1\1\0"), b"\1\1\1\1\1\1\1\0")),
        "icmp4-padded": ethernet(0x0800, ipv4(1, echo(8))) + b"\xee" * 9,
        "udp4-fragment": ethernet(0x0800, ipv4(17, udp(IP4, 1, 53, b"start"), fragment=0x2000)),
        "udp4-fragment-later": ethernet(0x0800, ipv4(17, b"the rest", fragment=0x0003)),
        "udp6-headers": ethernet(0x86DD, ipv6(0, options + atomic + udp(IP6, 1, 53, b"odd"))),
        "tcp6-route": ethernet(0x86DD, ipv6(43, route + tcp(last_hop, b"routed"))),
        "icmp6": ethernet(0x86DD, ipv6(58, echo(128, IP6))),
        "vlan-udp4": ethernet(0x0800, ipv4(17, udp(IP4, 1, 2, b"")), bytes.fromhex("88a8006481000007")),
        "vxlan4-tcp4": ethernet(0x0800, ipv4(17, udp(IP4, 40000, 4789, vxlan(inner4 + b"\xaa\xbb")))),
        "vxlan6-udp6": ethernet(0x86DD, ipv6(17, udp(IP6, 40000, 8472, vxlan(inner6)))),
        "arp": ethernet(0x0806, bytes(28)),
        "geneve4-tcp4": ethernet(0x0800, ipv4(17, udp(IP4, 40000, 6081, geneve(inner4, bytes([1, 2, 3, 1]) + bytes(4))))),
        "vxlan-gpe4-udp4": ethernet(0x0800, ipv4(17, udp(IP4, 40000, 4790, struct.pack(
            ">II", 0x0C000001, 42 << 8) + ipv4(17, udp(IP4, 1, 53, b"bare"))))),
        "gre4-udp4": ethernet(0x0800, ipv4(47, gre(ipv4(17, udp(IP4, 1, 53, b"keyed"))))),
        "ipip-tcp4": ethernet(0x0800, ipv4(4, ipv4(6, tcp(IP4, b"inside")))),
        "6in4-udp6": ethernet(0x0800, ipv4(41, ipv6(17, udp(IP6, 1, 53, b"six")))),
        "sctp4": ethernet(0x0800, ipv4(132, sctp(b"chunk"))),
        "udplite6": ethernet(0x86DD, ipv6(136, udp_lite(IP6, 12, b"partly covered"))),
    }


def messages():
    asked = question("www.example.test", 1)
    here = b"\xc0\x0c"
    soa = name("ns.test") + b"\xc0\x10" + struct.pack(">5I", 1, 2, 3, 4, 5)
    return {
        "query-a": message(0x0100, (1, 0, 0, 0), asked),
        "query-aaaa-edns": message(0x0100, (1, 0, 0, 1), question("q0000002a.pathproof.test", 28),
                                   b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0)),
        "answer-a": message(0x8580, (1, 2, 0, 0), asked, record(here, 1, b"\xcb\0\x71\1"),
                            record(here, 1, b"\xcb\0\x71\2")),
        "answer-cname": message(0x8580, (1, 2, 0, 0), question("alias.test", 28),
                                record(here, 5, b"\4real\xc0\x12"), record(b"\xc0\x28", 28, IP6[0])),
        "answer-nxdomain": message(0x8183, (1, 0, 1, 0), asked, record(b"\xc0\x18", 6, soa)),
        "answer-truncated": message(0x8380, (1, 0, 0, 0), asked),
        "two-questions": message(0x0100, (2, 0, 0, 0), asked, b"\3foo\xc0\x10\0\x01\0\x01"),
        "pointer-loop": message(0x0100, (1, 0, 0, 0), b"\1a\xc0\x0c\0\x01\0\x01"),
        "longest-name": message(0x0100, (1, 0, 0, 0), question(".".join(["x" * 63] * 3 + ["y" * 61]), 1)),
    }


# What dataplane/frame/stamp.h describes.
def stamps():
    timestamps = b"\1\1\x08\x0a" + struct.pack(">II", 0x01020304, 0x0a0b0c0d)
    numbers = struct.pack(">HHII", 49153, 53, 0x31234567, 0x31234568)
    return {
        "query": message(0x0100, (1, 0, 0, 0), question("q0123abcd.cfedcba987654.pathproof.test", 1)),
        "payload": struct.pack(">HBBIQ", 0x7070, 4, 0, 0xdeadbeef, 0x123456789abc),
        "syn": numbers + b"\x80\x02\xff\xff\0\0\0\0" + timestamps,
        "syn-ack": numbers + b"\x80\x12\xff\xff\0\0\0\0" + timestamps,
        "reset": numbers + b"\x50\x14\0\0\0\0\0\0",
    }


def captures():
    def pcap(magic, *lengths):
        head = struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 65535, 1)
        return head + b"".join(struct.pack("<IIII", 10, number, length, length) + bytes(length)
                               for number, length in enumerate(lengths))

    def block(kind, body):
        size = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + size + body + size

    pcapng = (block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1)) +
              block(1, struct.pack("<HHI", 1, 0, 65535)) +
              block(6, struct.pack("<IIIII", 0, 0, 1000, 60, 60) + bytes(60)))
    whole = pcap(0xa1b2c3d4, 60, 98, 60)
    return {
        "microseconds": whole,
        "nanoseconds": pcap(0xa1b23c4d, 60, 60),
        "pcapng": pcapng,
        "cut-in-frame": whole[:-10],
        "cut-in-header": whole[:24 + 76 + 5],
        "no-frame": pcap(0xa1b2c3d4),
    }


# What harness/fate/record.h describes, on a machine that is little-endian: (end, flags, steps).
def fate_records():
    def packet(end, flags, *steps):
        addresses = IP4[0] + bytes(12) + IP4[1] + bytes(12)
        tuple_ = addresses + struct.pack("<HHBBH", 40000, 53, 4, 17, 0)
        head = struct.pack("<QQQ", 1, 1000, 2000) + tuple_ + tuple_
        stack = [2, 4, 3] + [0] * 9
        counters = struct.pack("<5I", 5, 5, 0, 0, 0) + struct.pack("<5I", 1, 1, 0, 0, 0)
        head += struct.pack("<Q12Q", 2, *stack) + counters
        head += struct.pack("<IIIIIII", 0, 2, 60, 7, 0, 0, 8)
        head += struct.pack("<HHHBBBBBB", 1, len(steps), 0, end, flags, 0, 1, 0, 0)
        head += bytes(8) + b"d0".ljust(16, b"\0")
        return head + b"".join(struct.pack("<BBHII", place, 0, 0x0303, 3, 7) for place in steps)

    return {
        "dropped-in-a-hook": packet(1, 64, 4, 5, 3, 1),
        "rejected": packet(1, 0, 1, 8),
        "consumed": packet(2, 1, 4, 5, 1, 7),
        "released": packet(3, 0, 1, 6),
        "merged": packet(4, 0, 2),
        "held": packet(0, 0, 1),
        "unseen": packet(5, 2),
    }


def followed_captures():
    def block(kind, body):
        body += b"\0" * (-len(body) % 4)
        size = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + size + body + size

    def option(code, value):
        return struct.pack("<HH", code, len(value)) + value + b"\0" * (-len(value) % 4)

    def packet(number, frame):
        head = struct.pack("<IIIII", number % 2, 0x60000, 1000 * number, len(frame), len(frame))
        return block(6, head + frame)

    head = (block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1)) +
            block(1, struct.pack("<HHI", 1, 0, 0) + option(2, b"lan0") + option(9, b"\x09")) +
            block(1, struct.pack("<HHI", 1, 0, 65535) + option(2, b"wan0") + option(14, bytes(8))))
    statistics = block(5, struct.pack("<III", 0, 0x60000, 9000) + option(3, struct.pack("<II", 0x60000, 9000)) +
                       option(5, struct.pack("<Q", 3)))
    some = list(frames().values())
    big = struct.pack(">IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 96, 1)
    stream = [ethernet(0x0800, ipv4(6, tcp(IP4, bytes(range(n, n + 40))))) for n in range(4)]
    return {
        "pcapng": head + b"".join(packet(n, frame) for n, frame in enumerate(some[:12])) + statistics,
        "pcapng-rest": head + b"".join(packet(n, frame) for n, frame in enumerate(some[12:])),
        "big-endian-cut": big + b"".join(struct.pack(">IIII", 10, n, len(frame), len(frame) + 50) + frame
                                         for n, frame in enumerate(some[:6])),
        "stream": head + b"".join(packet(n, frame) for n, frame in enumerate(stream * 2)),
    }


def main():
    for target, seeds in (("frame_view", frames()), ("dns_message", messages()),
                          ("stamp", stamps()), ("capture_file", captures()),
                           ("fate_record", fate_records()),
                           ("followed_capture", followed_captures())):
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for seed, data in seeds.items():
            (folder / seed).write_bytes(data)


main()
