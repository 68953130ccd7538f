"""The profile command as scripts use it: output, JSON lines, exit status.

check_command.py PATHPROOF
"""

import json
import os
import subprocess
import sys
import tempfile


def run(*words, **environment):
    done = subprocess.run(
        [sys.argv[1], "profile", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=30,
    )
    return done.returncode, done.stdout, done.stderr


def check_errors():
    status, _, err = run("check", "pp-no-such")
    assert status == 2 and "pp-no-such" in err, (status, err)
    status, _, err = run("check", "lo", "--netns", "pp-no-such")
    assert status == 2 and "pp-no-such" in err, (status, err)
    status, _, err = run("check", "lo", "--profile", "veth")
    assert status == 2 and "not for lo" in err, (status, err)
    status, _, err = run("check", "lo")
    assert status == 2 and "no profile is for driver" in err, (status, err)
    status, _, err = run("check")
    assert status == 2 and "--dpdk" in err, (status, err)
    status, _, err = run("probe")
    assert status == 2 and "--dpdk" in err, (status, err)
    status, _, err = run("show")
    assert status == 2 and "NAME" in err, err
    with tempfile.NamedTemporaryFile() as there:
        status, _, err = run("probe", "lo", "--out", there.name)
        assert status == 2 and "exists" in err, (status, err)


def check_errata():
    status, out, _ = run("errata", "list", "--json")
    assert status == 0 and len(out.splitlines()) >= 64, out
    status, out, _ = run("errata", "show", "E01")
    assert status == 0 and "tx-checksum-ip-generic off" in out and "ea64d8d6c675" in out, out
    status, out, _ = run("errata", "show", "E37", "--json")
    assert json.loads(out)["affected"][0]["pmd"] == ["net_txgbe", "net_txgbe_vf"], out
    status, _, err = run("errata", "show", "E00")
    assert status == 2 and "errata list" in err, err

    status, out, err = run(
        "errata", "match", "tx.outer.udp.NAT0", "--kernel", "5.4.20", "--condition", "nat=outer", "--json"
    )
    best = json.loads(out.splitlines()[0])
    assert status == 0 and best["id"] == "E01-nat0-outer-udp", out
    assert best["certainty"] == "driver and version" and best["workaround"], best
    status, out, _ = run("errata", "match", "tx.outer.udp.SWAP")
    assert status == 1 and not out, out
    status, _, err = run("errata", "match", "tx.outer.udp.NAT9")
    assert status == 2 and "there are: " in err and "CARRY" in err, err
    status, _, err = run("errata", "match", "tx.outer.udp.NAT0", "--condition", "moon=full")
    assert status == 2 and "outer_checksum" in err, err


def check_bad_files():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/bad.toml", "w", encoding="utf-8") as file:
            file.write('schema = "nicprofile/1"\nid = "bad"\nspeed = 10\n')
        status, _, err = run("list", PATHPROOF_PROFILES=folder)
        assert status == 2 and "bad.toml:3:1: unknown key 'speed'" in err, err
        os.mkdir(f"{folder}/errata")
        with open(f"{folder}/errata/E99-bad.toml", "w", encoding="utf-8") as file:
            file.write('schema = "erratum/1"\nid = "E99-bad"\ntitel = "x"\n')
        status, _, err = run("errata", "list", PATHPROOF_PROFILES=folder)
        assert status == 2 and "E99-bad.toml:3:1: unknown key 'titel'" in err, err


def main():
    status, out, _ = run("list")
    assert status == 0 and "veth" in out and "vxlan" in out, out

    status, out, _ = run("list", "--json")
    ids = [json.loads(line)["id"] for line in out.splitlines()]
    assert status == 0 and len(ids) >= 20 and {"igb", "mlx5", "veth", "vxlan"} <= set(ids), out

    status, out, _ = run("show", "vxlan", "--json")
    shown = json.loads(out)
    generic = shown["offload"]["ethtool"]["tx-checksum-ip-generic"]
    assert status == 0 and generic["expect"] == "required" and generic["default"] == "on", shown

    for name in ids:
        status, out, _ = run("show", name)
        assert status == 0 and out.startswith(name + ": ") and "sources" in out, out
    status, out, _ = run("show", "i40e", "--json")
    outer = json.loads(out)["offload"]["dpdk"]["tx"]["OUTER_UDP_CKSUM"]
    assert outer["expect"] == "broken" and outer["erratum"] == "E34-x710-outer-udp", outer
    assert outer["dpdk"] == "before 24.07 (mended in 22.11.6 too)", outer

    status, out, err = run("show", "tulip")
    assert status == 2 and not out and "there are: 8139cp, " in err, err

    check_errors()
    check_errata()
    check_bad_files()
    print("profile list, show, check, probe and errata behave as documented")


main()
