"""Debian's packages as the tests of this folder ask for them: who owns a file, and what an installation brings along."""
import glob
import os
import re
import subprocess


def listed(root, name):
    """An array of scripts/packages."""
    text = subprocess.run(["bash", "-c", f"source '{root}/scripts/packages'; echo \"${{{name}[@]}}\""],
                          check=True, capture_output=True, text=True).stdout
    return set(text.split())


def field(root, name):
    """The packages and substitution variables of a field of debian/control, without versions."""
    with open(f"{root}/debian/control", encoding="utf-8") as control:
        found = re.search(rf"^{name}:((?:\n[ #].*)+)", control.read(), re.MULTILINE)
    return set(re.sub(r"#.*|\(.*?\)|,", " ", found[1]).split())


def in_usr(path):
    """One spelling of the paths that a merged /usr has twice: /lib/x and /usr/lib/x."""
    return re.sub(r"^/usr(?=/(bin|sbin|lib|lib64)/)", "", path)


class Owners:
    """The package that a file came with."""

    def __init__(self):
        self._of = {}
        for name in glob.glob("/var/lib/dpkg/info/*.list"):
            package = os.path.basename(name).removesuffix(".list").split(":")[0]
            with open(name, encoding="utf-8", errors="surrogateescape") as files:
                for path in files:
                    self._of[in_usr(path.rstrip("\n"))] = package

    def of(self, path):
        """None: no package has it. Links are followed, those of update-alternatives too."""
        return self._of.get(in_usr(os.path.realpath(path))) or self._of.get(in_usr(path))


class Installed:
    """The packages on this machine and what they depend on."""

    def __init__(self):
        text = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Package}\\t${db:Status-Status}\\t${Pre-Depends}, ${Depends}\\t${Provides}\\t"
             "${Essential}\\t${Priority}\\n"], check=True, capture_output=True, text=True).stdout
        self._depends = {}
        self._providers = {}
        self.required = set()
        self.essential = set()
        for line in text.splitlines():
            package, state, depends, provides, essential, priority = line.split("\t")
            if state != "installed":
                continue
            self._depends[package] = depends
            for each in self._names(provides):
                self._providers.setdefault(each, set()).add(package)
            if essential == "yes":
                self.essential.add(package)
            if essential == "yes" or priority == "required":
                self.required.add(package)

    @staticmethod
    def _names(text):
        return [re.sub(r"\(.*?\)|:\w+|\s", "", each) for each in text.split(",") if each.strip()]

    def _chosen(self, clause):
        """The packages that satisfy "a | b": as apt does, the first of them that is there."""
        for name in self._names(clause.replace("|", ",")):
            if name in self._depends:
                return {name}
            if name in self._providers:
                return self._providers[name]
        return set()

    def closure(self, packages):
        """What installing these without recommendations brings to a machine with nothing but essential packages."""
        reached = set()
        waiting = set(packages) | self.essential
        while waiting:
            package = waiting.pop()
            if package in reached or package not in self._depends:
                continue
            reached.add(package)
            for clause in self._depends[package].split(","):
                if clause.strip():
                    waiting |= self._chosen(clause)
        return reached
