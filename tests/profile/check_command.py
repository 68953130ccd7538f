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


def main():
    status, out, _ = run("list")
    assert status == 0 and "veth" in out and "vxlan" in out, out

    status, out, _ = run("list", "--json")
    assert status == 0
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["veth", "vxlan"], out

    status, out, _ = run("show", "vxlan", "--json")
    shown = json.loads(out)
    generic = shown["offload"]["ethtool"]["tx-checksum-ip-generic"]
    assert status == 0 and generic["expect"] == "required" and generic["default"] == "on", shown

    status, out, _ = run("show", "veth")
    assert status == 0 and "tx-checksum-ip-generic" in out

    status, out, err = run("show", "e1000")
    assert status == 2 and not out and "there are: veth, vxlan" in err, err

    status, out, err = run("check", "veth", "pp-no-such")
    assert status == 2 and "pp-no-such" in err, (status, err)
    status, out, err = run("check", "veth", "lo", "--netns", "pp-no-such")
    assert status == 2 and "pp-no-such" in err, (status, err)
    status, out, err = run("check", "veth", "lo")
    assert status == 2 and "not for lo" in err, (status, err)

    status, _, err = run("show")
    assert status == 2 and "NAME" in err, err

    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/bad.toml", "w", encoding="utf-8") as file:
            file.write('schema = "nicprofile/1"\nid = "bad"\nspeed = 10\n')
        status, _, err = run("list", PATHPROOF_PROFILES=folder)
        assert status == 2 and "bad.toml:3:1: unknown key 'speed'" in err, err
    print("profile list, show and check behave as documented")


main()
