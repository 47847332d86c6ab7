"""Tries every package that `cargo xtask dist` writes and this machine has the tools for.

PACKAGES is their directory, STEADFAST_BIN the program that is in those for this machine. Those for the
processor STEADFAST_FOREIGN are tried with the emulator STEADFAST_EMULATOR. It runs in an environment that
has helm, kubernetes_validate and yaml. What a machine lacks is left out and named.
"""

import base64
import concurrent.futures
import configparser
import contextlib
import gzip
import hashlib
import http.server
import io
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request
import zipfile

import kubernetes_validate
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = pathlib.Path(os.environ["PACKAGES"])
BINARY = os.environ.get("STEADFAST_BIN")
FOREIGN = os.environ.get("STEADFAST_FOREIGN")
MACHINE = platform.machine()
# As Debian and containers, and as npm name the processor.
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
NPM = {"x86_64": "x64", "aarch64": "arm64"}
KEY = "0123456789abcdef0123456789abcdef"
USER = 65532
# Of a systemd unit, times ten: from 0, all is taken away, to 100.
EXPOSURE_MAX = 20
KUBERNETES = ["1.25.0", "1.37.0"]


def package(pattern):
    """The one package of that name."""
    (found,) = PACKAGES.glob(pattern)
    return found


def output(*command, **more):
    """What a command prints; if it fails, that is the error."""
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


VERSION = package("*-chart.tgz").name.removeprefix("steadfast-").removesuffix("-chart.tgz")


def archive(machine=MACHINE):
    return package(f"*-{machine}-unknown-linux-musl.tar.gz")


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is missing")


def may_mount():
    test = ["unshare", "--mount", "true"]
    return os.geteuid() == 0 and shutil.which("unshare") and subprocess.run(test, capture_output=True).returncode == 0


needs_namespaces = unittest.skipUnless(may_mount(), "only root may mount")


def inside(root, directory, user, writable):
    """The beginning of a command that runs in another root directory, which it can only read, as a
    user who can get no rights. A program that is not static gets its libraries first."""
    for library in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", BINARY], capture_output=True, text=True).stdout):
        copy = root / library.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, copy)
    root.chmod(0o755)
    uid, gid = user.split(":")
    (mount, unshare, setpriv, sh) = map(shutil.which, ["mount", "unshare", "setpriv", "sh"])
    script = (
        f'{mount} --bind "$0" "$0" && {mount} --bind "{writable}" "{writable}" && {mount} -o remount,bind,ro "$0" && '
        f'exec {setpriv} --no-new-privs {unshare} --root="$0" --wd={directory} --setgid={gid} --setuid={uid} -- "$@"'
    )
    return [unshare, "--mount", sh, "-c", script, str(root)]


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def unpack(self, path):
        """The directory that an archive unpacks to."""
        with tarfile.open(path) as tar:
            top = tar.getnames()[0].split("/")[0]
            self.assertTrue(all(name.split("/")[0] == top for name in tar.getnames()))
            tar.extractall(self.scratch, filter="data")
        return self.scratch / top

    def assert_program(self, *command):
        self.assertEqual(output(*map(str, command), "--version").split(), ["steadfast", VERSION])


class Layout:
    """The OCI layout of an image. What is read from it is compared with its digest."""

    def __init__(self, path):
        self.tar = tarfile.open(path)
        assert self.json("oci-layout")["imageLayoutVersion"] == "1.0.0"

    def json(self, name):
        return json.load(self.tar.extractfile(name))

    def blob(self, descriptor):
        algorithm, sum = descriptor["digest"].split(":")
        blob = self.tar.extractfile(f"blobs/{algorithm}/{sum}").read()
        assert hashlib.sha256(blob).hexdigest() == sum
        assert len(blob) == descriptor["size"]
        return blob

    def images(self):
        """The platform, the configuration and the only layer of each image."""
        descriptors = self.json("index.json")["manifests"]
        for descriptor in descriptors:
            document = json.loads(self.blob(descriptor))
            assert document["schemaVersion"] == 2
            assert document["mediaType"] == descriptor["mediaType"]
            if "manifests" in document:
                descriptors.extend(document["manifests"])
                continue
            (layer,) = document["layers"]
            config, layer = json.loads(self.blob(document["config"])), self.blob(layer)
            tar_sum = hashlib.sha256(gzip.decompress(layer)).hexdigest()
            assert config["rootfs"]["diff_ids"] == [f"sha256:{tar_sum}"]
            yield descriptor["platform"], config, layer


class Images(Scratch):
    """Images are started from their own files alone, without a daemon."""

    def layout(self, pattern):
        layout = Layout(package(pattern))
        self.addCleanup(layout.tar.close)
        return layout

    def unpacked(self, config, layer, emulator=None):
        """The volume of an image, the beginning of a command in it, and the environment."""
        run = config["config"]
        root = self.scratch / config["architecture"]
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            tar.extractall(root, filter="fully_trusted")
        volume = root / run["WorkingDir"].lstrip("/")
        environment = dict(entry.split("=", 1) for entry in run["Env"])
        environment["STEADFAST_LISTEN"] = "127.0.0.2:0"
        start = inside(root, run["WorkingDir"], run["User"], writable=volume)
        if emulator:
            shutil.copy(emulator, root / "emulator")
            start.append("/emulator")
        return volume, start, environment

    def assert_serves(self, server, volume):
        """A server of an image that printed its first key."""
        (server.key,) = re.findall(r"first API key, not shown again: (\w+)", server.said)
        self.assertEqual(server.get("/healthz")["status"], "ok")
        self.assertEqual(server.get("/readyz")["status"], "ok")
        self.assertEqual(len(server.get("/api/v1/keys")["keys"]), 1)
        self.assertEqual((volume / "steadfast.db").stat().st_uid, USER)


class Archives(Scratch):
    @unittest.skipUnless("STEADFAST_STATIC" in os.environ, "the program of the tests is not static")
    def test_the_program_needs_nothing_of_a_machine_and_names_none(self):
        program = pathlib.Path(BINARY).read_bytes()
        # The head of a program names the loader that it needs.
        self.assertNotIn(b"/ld-", program[:4096])
        for place in (ROOT, pathlib.Path.home()):
            self.assertNotIn(f"{place}/".encode(), program, "it knows where it was built")

    def test_sums_are_those_of_the_files(self):
        names = set()
        for line in (PACKAGES / "SHA256SUMS").read_text().splitlines():
            wanted, name = line.split("  ")
            self.assertEqual(hashlib.sha256((PACKAGES / name).read_bytes()).hexdigest(), wanted)
            names.add(name)
        there = {path.name for path in PACKAGES.iterdir()} - {"SHA256SUMS"}
        self.assertEqual(names, there)

    def test_the_archive_has_one_directory_with_a_program_that_runs(self):
        path = archive()
        top = self.unpack(path)
        self.assertEqual(top.name, path.name.removesuffix(".tar.gz"))
        self.assert_program(top / "steadfast")
        for name in ["LICENSE-MIT", "LICENSE-APACHE", "steadfast.example.toml", "steadfast.service"]:
            self.assertTrue((top / name).stat().st_size > 0)
        for name in ["man/steadfast-jobs-create.1", "completions/_steadfast"]:
            self.assertTrue((top / name).stat().st_size > 0)

    def test_the_formula_of_the_tap_has_the_sum_of_the_archive(self):
        if not list(PACKAGES.glob("*-homebrew-tap.tgz")):
            self.skipTest("no --url, no tap")
        formula = self.unpack(package("*-homebrew-tap.tgz")) / "Formula/steadfast.rb"
        sum = hashlib.sha256(archive().read_bytes()).hexdigest()
        self.assertIn(f'sha256 "{sum}"', formula.read_text())
        self.assertIn(f'/{archive().name}"', formula.read_text())
        if shutil.which("ruby"):
            output("ruby", "-c", formula)

    def test_the_script_installs_the_program_and_refuses_a_damaged_one(self):
        if not list(PACKAGES.glob("install.sh")):
            self.skipTest("no --url, no script")
        target = self.scratch / "bin"
        environment = {**os.environ, "STEADFAST_INSTALL_DIR": str(target), "STEADFAST_DOWNLOADS": PACKAGES.as_uri()}
        for _ in range(2):
            self.assertIn(VERSION, output("sh", package("install.sh"), env=environment))
        self.assert_program(target / "steadfast")
        damaged = self.scratch / "damaged"
        damaged.mkdir()
        (damaged / archive().name).write_bytes(archive().read_bytes() + b"x")
        shutil.copy(PACKAGES / "SHA256SUMS", damaged)
        environment["STEADFAST_DOWNLOADS"] = damaged.as_uri()
        refused = subprocess.run(["sh", package("install.sh")], env=environment, capture_output=True, text=True)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("its sum differs", refused.stderr)


@unittest.skipUnless(FOREIGN, "there are no packages for another processor")
class Foreign(Images):
    """The program for another processor, in an emulator."""

    def test_it_serves_and_runs_a_job(self):
        emulator = shutil.which(os.environ["STEADFAST_EMULATOR"])
        program = self.unpack(archive(FOREIGN)) / "steadfast"
        self.assert_program(emulator, program)
        self.assertIn("attempt", output(emulator, program, "policy", "preview", "patient"))
        store = self.scratch / "jobs.db"
        args = ["--store", f"sqlite:{store}", "--listen", "127.0.0.1:0"]
        with Server([emulator, program], {}, args) as server:
            self.assertEqual(server.get("/readyz")["status"], "ok")
            create = [emulator, program, "jobs", "create", "http://127.0.0.1:9/", "--max-retries", "1"]
            retry = ["--retry", '{"baseDelay": "10ms"}', "--watch", "--url", server.address]
            watched = subprocess.run([*create, *retry], capture_output=True, text=True)
            self.assertIn("no retries left", watched.stdout, watched.stderr)
        self.assertGreater(store.stat().st_size, 0)

    def test_all_packages_are_there(self):
        for pattern in [f"*_{DEBIAN[FOREIGN]}.deb", f"*-image-{DEBIAN[FOREIGN]}.tar", f"*_{FOREIGN}.whl"]:
            self.assertTrue(package(pattern).stat().st_size > 0)
        self.assertTrue(package(f"*-npm-linux-{NPM[FOREIGN]}.tgz").stat().st_size > 0)

    @unittest.skipUnless(BINARY, "there is only one processor")
    @needs_namespaces
    def test_each_program_of_the_image_for_both_processors_serves(self):
        architectures = set()
        for platform, config, layer in self.layout("*-image.tar").images():
            architecture = config["architecture"]
            self.assertEqual(platform, {"architecture": architecture, "os": config["os"]})
            architectures.add(architecture)
            is_foreign = architecture == DEBIAN[FOREIGN]
            emulator = shutil.which(os.environ["STEADFAST_EMULATOR"]) if is_foreign else None
            volume, start, environment = self.unpacked(config, layer, emulator)
            program = "/usr/local/bin/steadfast"
            self.assert_program(*start, program)
            with Server([*start, program], environment, []) as server:
                self.assert_serves(server, volume)
        self.assertEqual(architectures, {DEBIAN[MACHINE], DEBIAN[FOREIGN]})


class Debian(Scratch):
    @needs("dpkg-deb")
    def test_its_fields_and_files(self):
        path = package(f"*_{DEBIAN[MACHINE]}.deb")
        field = lambda name: output("dpkg-deb", "--field", path, name).strip()
        self.assertEqual((field("Package"), field("Version")), ("steadfast", VERSION))
        listed = output("dpkg-deb", "--contents", path).splitlines()
        self.assertTrue(all(line.split()[1] == "root/root" for line in listed), listed)
        output("dpkg-deb", "--extract", path, self.scratch)
        self.assert_program(self.scratch / "usr/bin/steadfast")
        output("dpkg-deb", "--control", path, self.scratch / "control")
        for name in ["postinst", "prerm", "postrm"]:
            output("sh", "-n", self.scratch / "control" / name)
        for conffile in (self.scratch / "control/conffiles").read_text().split():
            self.assertTrue((self.scratch / conffile.lstrip("/")).exists(), conffile)
        settings = self.scratch / "etc/steadfast/steadfast.toml"
        output(BINARY, "serve", "--config", settings, "--print-config")
        share = self.scratch / "usr/share"
        self.assertIn(b"jobs create", gzip.decompress((share / "man/man1/steadfast-jobs-create.1.gz").read_bytes()))
        script = share / "bash-completion/completions/steadfast"
        self.assertIn("endpoints", self.complete(script, "steadfast", "end"))
        self.assertIn("--from", self.complete(script, "steadfast", "jobs", "create", "--f"))

    @needs("dpkg-deb")
    @needs_namespaces
    def test_what_the_unit_starts_serves(self):
        output("dpkg-deb", "--extract", package(f"*_{DEBIAN[MACHINE]}.deb"), self.scratch)
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str
        unit.read(self.scratch / "usr/lib/systemd/system/steadfast.service")
        service = unit["Service"]
        state = self.scratch / service["WorkingDirectory"].lstrip("/")
        state.mkdir(parents=True)
        os.chown(state, USER, USER)
        start = inside(self.scratch, service["WorkingDirectory"], f"{USER}:{USER}", writable=state)
        # The port of the settings may be in use here.
        environment = {"STEADFAST_ADMIN_KEY": KEY, "STEADFAST_LISTEN": "127.0.0.3:0"}
        program, *args = service["ExecStart"].split()
        self.assertEqual(args.pop(0), "serve")
        with Server([*start, program], environment, args) as server:
            self.assertEqual(server.get("/readyz")["status"], "ok")
            self.assertIn("keys", server.get("/api/v1/keys"))
        self.assertEqual((state / "steadfast.db").stat().st_uid, USER)

    def complete(self, script, *words):
        """What bash would offer for the last word."""
        program = (
            f'source {script}; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; '
            f'_steadfast steadfast "{words[-1]}" "{words[-2]}"; echo "${{COMPREPLY[@]}}"'
        )
        return output("bash", "-c", program).split()

    @needs("systemd-analyze")
    def test_the_unit_is_hardened_and_without_mistakes(self):
        unit = ROOT / "packaging/systemd/steadfast.service"
        copy = self.scratch / "steadfast.service"
        # The program and its user are not installed here.
        text = unit.read_text().replace("/usr/bin/steadfast", "/bin/true")
        copy.write_text(text.replace("=steadfast\n", "=daemon\n"))
        said = subprocess.run(
            ["systemd-analyze", "verify", copy], capture_output=True, text=True
        ).stderr
        ours = [line for line in said.splitlines() if "steadfast" in line]
        self.assertEqual(ours, [])
        limit = f"--threshold={EXPOSURE_MAX}"
        output("systemd-analyze", "security", "--offline=true", limit, unit)


class Image(Images):
    def setUp(self):
        super().setUp()
        self.image = self.layout(f"*-image-{DEBIAN[MACHINE]}.tar")

    def parts(self):
        """The configuration, and the layer."""
        ((_, config, layer),) = self.image.images()
        return config, layer

    def test_it_is_a_layout_that_docker_reads_as_well(self):
        config, layer = self.parts()
        (docker,) = self.image.json("manifest.json")
        self.assertEqual(docker["RepoTags"], [f"steadfast:{VERSION}"])
        self.assertEqual(self.image.json(docker["Config"]), config)
        self.assertEqual(self.image.tar.extractfile(docker["Layers"][0]).read(), layer)

    def test_it_serves_as_a_user_without_rights_on_a_volume(self):
        config, layer = self.parts()
        run = config["config"]
        self.assertEqual((config["os"], run["User"]), ("linux", f"{USER}:{USER}"))
        self.assertEqual((run["Entrypoint"], run["Cmd"]), (["steadfast"], ["serve"]))
        self.assertEqual((list(run["Volumes"]), run["WorkingDir"]), (["/data"], "/data"))
        self.assertEqual(list(run["ExposedPorts"]), ["7373/tcp"])
        self.assertIn("STEADFAST_LISTEN=0.0.0.0:7373", run["Env"])
        self.assertIn("STEADFAST_PRINT_FIRST_KEY=true", run["Env"])
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            files = {member.name: member for member in tar.getmembers()}
        self.assertEqual((files["data"].uid, files["data"].mode), (USER, 0o700))
        program = files["usr/local/bin/steadfast"]
        self.assertEqual((program.uid, program.mode), (0, 0o755))
        writable = [m.name for m in files.values() if m.mode & 0o022 and m.name != "tmp"]
        self.assertEqual(writable, [])

    @needs_namespaces
    def test_it_starts_alone_and_prints_its_first_key_once(self):
        config, layer = self.parts()
        run = config["config"]
        volume, start, environment = self.unpacked(config, layer)
        self.assert_program(*start, "/usr/local/bin/steadfast")
        refused = subprocess.run(
            [*start, *run["Entrypoint"], *run["Cmd"]],
            env={**environment, "STEADFAST_PRINT_FIRST_KEY": "false", "STEADFAST_LISTEN": "0.0.0.0:0"},
            capture_output=True,
            text=True,
        )
        self.assertEqual(refused.returncode, 1)
        self.assertIn("STEADFAST_ADMIN_KEY", refused.stderr)
        command = [*start, *run["Entrypoint"]]
        with Server(command, environment, []) as server:
            self.assert_serves(server, volume)
        # The same volume, with a key of the operator's.
        with Server(command, {**environment, "STEADFAST_ADMIN_KEY": KEY}, []) as server:
            self.assertNotIn("first API key", server.said)
            self.assertEqual(len(server.get("/api/v1/keys")["keys"]), 2)


class PackageManagers(Scratch):
    def test_pip_installs_the_wheel_into_an_empty_environment(self):
        path = package(f"*_{MACHINE}.whl")
        with zipfile.ZipFile(path) as wheel:
            self.assertIsNone(wheel.testzip())
            (record,) = [name for name in wheel.namelist() if name.endswith("/RECORD")]
            rows = [line.split(",") for line in wheel.read(record).decode().splitlines()]
            self.assertEqual({row[0] for row in rows}, set(wheel.namelist()))
            for name, sum, size in rows:
                if name != record:
                    digest = hashlib.sha256(wheel.read(name)).digest()
                    text = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                    self.assertEqual((sum, int(size)), (f"sha256={text}", wheel.getinfo(name).file_size))
        output(sys.executable, "-m", "venv", "--without-pip", self.scratch / "venv")
        python = self.scratch / "venv/bin/python"
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
        output(*pip, "--no-index", "--no-deps", path)
        program = self.scratch / "venv/bin/steadfast"
        self.assert_program(program)
        with Server([program], {}, ["--store", "memory:", "--listen", "127.0.0.1:0"]) as server:
            self.assertEqual(server.get("/readyz")["status"], "ok")

    def test_npm_installs_the_package_into_an_empty_prefix(self):
        place = self.scratch / "app"
        place.mkdir()
        environment = {**os.environ, "npm_config_cache": str(self.scratch / "cache")}
        install = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--prefix", place]
        output(*install, package(f"*-npm-linux-{NPM[MACHINE]}.tgz"), env=environment)
        self.assert_program(place / "node_modules/.bin/steadfast")
        run = ["npm", "exec", "--offline", "--prefix", place, "--", "steadfast", "--version"]
        self.assertIn(VERSION, output(*run, env=environment, cwd=place))


class Chart(Scratch):
    CASES = {
        "one node with a volume": [],
        "three nodes on PostgreSQL": [
            "replicas=3",
            "postgres.existingSecret=database",
            "adminKey.existingSecret=keys",
            "ingress.enabled=true",
            "ingress.tlsSecret=certificate",
            "monitor.enabled=true",
            "alerts.enabled=true",
            "dashboard.enabled=true",
            "settings.STEADFAST_RETENTION=14d",
            "resources.limits.cpu=2",
        ],
    }

    def render(self, values):
        sets = [part for value in values for part in ("--set", value)]
        text = output(HELM, "template", "jobs", package("*-chart.tgz"), *sets)
        return [document for document in yaml.safe_load_all(text) if document]

    def test_it_is_without_mistakes(self):
        output(HELM, "lint", "--strict", package("*-chart.tgz"))

    def test_kubernetes_takes_what_it_renders(self):
        for case, values in self.CASES.items():
            for document in self.render(values):
                if document["apiVersion"].startswith("monitoring.coreos.com/"):
                    continue
                for version in KUBERNETES:
                    with self.subTest(case, kind=document["kind"], version=version):
                        kubernetes_validate.validate(document, version, strict=True)

    def test_a_single_node_has_a_volume_and_several_have_a_database(self):
        one, three = (self.render(values) for values in self.CASES.values())
        kinds = lambda documents: {document["kind"] for document in documents}
        self.assertEqual(kinds(one), {"ServiceAccount", "Secret", "Service", "StatefulSet"})
        more = {"Deployment", "Ingress", "PodDisruptionBudget", "ConfigMap"}
        more |= {"ServiceMonitor", "PrometheusRule"}
        self.assertEqual(kinds(three), {"ServiceAccount", "Service"} | more)
        (rules,) = [document for document in three if document["kind"] == "PrometheusRule"]
        self.assertEqual(rules["spec"], yaml.safe_load(ALERTS.read_text()))
        (board,) = [document for document in three if document["kind"] == "ConfigMap"]
        self.assertEqual(json.loads(board["data"]["steadfast.json"]), json.loads(DASHBOARD.read_text()))

    def test_pods_have_probes_and_no_rights(self):
        for values in self.CASES.values():
            (workload,) = [d for d in self.render(values) if d["kind"] in ("Deployment", "StatefulSet")]
            pod = workload["spec"]["template"]["spec"]
            (container,) = pod["containers"]
            paths = {name: container[name]["httpGet"]["path"] for name in container if "Probe" in name}
            wanted = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
            self.assertEqual(paths, wanted)
            self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
            self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]})
            self.assertEqual(pod["securityContext"]["runAsUser"], USER)
            self.assertGreater(pod["terminationGracePeriodSeconds"], 30)
            self.assertTrue(container["image"].endswith(f":{VERSION}"))
            # What the chart sets is what the program knows.
            known = set(re.findall(r"env: (\w+)", output(BINARY, "serve", "--help")))
            names = {entry["name"] for entry in container["env"]}
            self.assertLessEqual(names, known | {"STEADFAST_ADMIN_KEY"})

    def test_the_commands_of_the_page_install_it(self):
        page = (ROOT / "docs/kubernetes.md").read_text()
        text = "\n".join(re.findall(r"```sh needs=cluster\n(.*?)```", page, re.DOTALL))
        commands = [shlex.split(line) for line in text.replace("\\\n", " ").splitlines() if line]
        kinds, mounts = [], {}
        for program, verb, *args in commands:
            if program == "helm":
                self.assertEqual(verb, "install")
                chart = {"steadfast-VERSION-chart.tgz": str(package("*-chart.tgz"))}
                rendered = output(HELM, "template", *[chart.get(arg, arg) for arg in args])
                documents = [document for document in yaml.safe_load_all(rendered) if document]
                for document in documents:
                    kubernetes_validate.validate(document, KUBERNETES[-1], strict=True)
                    kinds.append(document["kind"])
                    mounts |= mounted_volumes(document)
            elif shutil.which(program):
                output(program, verb, *args, "--dry-run=client", "--output=yaml")
        self.assertIn("StatefulSet", kinds)
        self.assertIn("Deployment", kinds)
        # The address in the secret names the file that the command before it puts there.
        self.assertEqual(mounts.get("/etc/authority"), {"configMap": {"name": "authority"}})
        self.assertIn("create configmap authority --from-literal=ca.pem=", text)
        self.assertIn("sslrootcert=/etc/authority/ca.pem", text)

    def test_values_that_cannot_work_are_refused(self):
        for value, reason in [
            ("replicas=2", "several replicas need one PostgreSQL"),
            ("settings.RETENTION=14d", "STEADFAST_"),
            ("replica=2", "replica"),
            ("persistence.size=lots", "persistence.size"),
        ]:
            with self.subTest(value), self.assertRaisesRegex(AssertionError, reason):
                self.render([value])


def mounted_volumes(document):
    """The volume behind each path of a workload's container."""
    if document["kind"] not in ("Deployment", "StatefulSet"):
        return {}
    pod = document["spec"]["template"]["spec"]
    volumes = {volume["name"]: {k: v for k, v in volume.items() if k != "name"} for volume in pod["volumes"]}
    (container,) = pod["containers"]
    return {mount["mountPath"]: volumes.get(mount["name"]) for mount in container["volumeMounts"]}


class Monitoring(unittest.TestCase):
    """Dashboard and alert rules ask for metrics and labels that a server has."""

    @classmethod
    def setUpClass(cls):
        cls.metrics, cls.queues = figures_of_a_server()

    def assert_known(self, expression):
        expression = expression.replace("\n", " ")
        names = re.findall(r"\bsteadfast_\w+", expression)
        self.assertTrue(names, expression)
        labels = {"instance"}
        for name in names:
            self.assertIn(name, self.metrics)
            labels |= self.metrics[name]
        for name, matchers in re.findall(r"\b(steadfast_\w+)\{([^}]*)\}", expression):
            asked = set(re.findall(r"(\w+)\s*=~?", matchers))
            self.assertLessEqual(asked, self.metrics[name], expression)
        for group in re.findall(r"\bby \(([^)]*)\)", expression):
            self.assertLessEqual({name.strip() for name in group.split(",")}, labels, expression)

    def test_every_panel_of_the_dashboard_has_its_metrics(self):
        board = json.loads(DASHBOARD.read_text())
        expressions = [
            target["expr"] for panel in board["panels"] for target in panel.get("targets", [])
        ]
        self.assertGreater(len(expressions), 20)
        for expression in expressions:
            self.assert_known(expression)
        ids = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_every_alert_rule_has_its_metrics(self):
        (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
        for rule in group["rules"]:
            with self.subTest(rule["alert"]):
                self.assert_known(rule["expr"])
                self.assertIn(rule["labels"]["severity"], ("warning", "critical"))
                self.assertTrue(rule["annotations"]["summary"])

    def test_the_page_on_scaling_asks_for_what_there_is(self):
        page = (ROOT / "docs/kubernetes.md").read_text()
        blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
        (scaler,) = [block for block in blocks if block.get("kind") == "ScaledObject"]
        (trigger,) = scaler["spec"]["triggers"]
        self.assert_known(trigger["metadata"]["query"])
        (name, figure) = re.search(r"'queues\.#\((\w+)==\"mail\"\)\.(\w+)'", page).groups()
        (queue,) = self.queues
        self.assertEqual((queue[name], type(queue[figure])), ("default", int))

    def test_prometheus_takes_the_rules(self):
        output("promtool", "check", "rules", ALERTS)

    def test_a_prometheus_that_scrapes_a_server_answers_every_query(self):
        board = json.loads(DASHBOARD.read_text())
        targets = [(panel["title"], target["expr"]) for panel in board["panels"] for target in panel.get("targets", [])]
        with server_with_data() as (server, _), Prometheus(server.address) as prometheus:
            # A rate needs two scrapes.
            prometheus.wait_for("count_over_time(steadfast_damaged_rows[1m]) > 3")
            for title, expression in targets:
                for name, value in [("$__rate_interval", "1m"), ("$tenant", ".*"), ("$queue", ".*")]:
                    expression = expression.replace(name, value)
                with self.subTest(title):
                    found = prometheus.get("query", query=expression)["result"]
                    # No gate is paused.
                    self.assertTrue(found or title == "Paused gates", expression)
            prometheus.wait_for('ALERTS{alertname="SteadfastAlert"}')
            (group,) = prometheus.get("rules")["groups"]
            for rule in group["rules"]:
                self.assertEqual((rule["name"], rule["health"]), (rule["name"], "ok"))

    def test_the_example_for_keda_asks_for_what_there_is(self):
        documents = yaml.safe_load_all((ROOT / "deploy/keda/workers.yaml").read_text())
        (scaler,) = [document for document in documents if document["kind"] == "ScaledObject"]
        (queue,) = self.queues
        names = [trigger["name"] for trigger in scaler["spec"]["triggers"]]
        self.assertEqual(scaler["spec"]["advanced"]["scalingModifiers"]["formula"], " + ".join(names))
        for trigger in scaler["spec"]["triggers"]:
            place = trigger["metadata"]["valueLocation"]
            (name, figure) = re.search(r"queues\.#\((\w+)==\"mail\"\)\.(\w+)", place).groups()
            self.assertEqual((figure, queue[name], type(queue[figure])), (trigger["name"], "default", int))


HELM = str(pathlib.Path(sys.executable).parent / "helm")
ALERTS = ROOT / "deploy/prometheus/alerts.yaml"
DASHBOARD = ROOT / "deploy/grafana/dashboard.json"


class Server:
    """A node on a port of its own."""

    def __init__(self, command, environment, args):
        self.key = environment.get("STEADFAST_ADMIN_KEY")
        self.process = subprocess.Popen(
            [*command, "serve", *args], env=environment, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        self.said = ""
        while not (found := re.findall(r"http://[\d.:]+", self.said)):
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"it did not start: {self.said}")
            self.said += line
        (self.address,) = found
        # A full pipe would hold it up.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def call(self, path, method="GET", body=None):
        headers = {"content-type": "application/json"}
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request) as response:
            return response.read().decode()

    def get(self, path):
        return json.loads(self.call(path))


class FailingTarget(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(500)
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def server_with_data():
    """A node whose job has failed, was retried and fired an alert; and its metrics."""
    target = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FailingTarget)
    threading.Thread(target=target.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as place:
        settings = pathlib.Path(place) / "steadfast.toml"
        settings.write_text('[alerts.dlq]\nafter = "0s"\n')
        args = ["--listen", "127.0.0.1:0", "--config", settings, "--store", f"sqlite:{place}/jobs.db"]
        with Server([BINARY], dict(os.environ), args) as server:
            job = {
                "api": f"http://127.0.0.1:{target.server_port}/",
                "retry": {"baseDelay": 20, "maxRetries": 1},
            }
            server.call("/api/v1/jobs", "POST", job)
            gate = {"maxRunning": 5, "rate": {"limit": 100, "per": "1s"}}
            server.call("/api/v1/gates/queue/default", "PUT", gate)
            text = ""
            deadline = time.monotonic() + 30
            while "steadfast_alert_firing" not in text or "steadfast_retry_exhausted" not in text:
                if time.monotonic() > deadline:
                    raise AssertionError(f"metrics are missing:\n{text}")
                time.sleep(0.1)
                text = server.call("/metrics")
            yield server, text
    target.shutdown()


def figures_of_a_server():
    """The labels of every metric, and the list of queues."""
    with server_with_data() as (server, text):
        queues = server.get("/api/v1/queues")["queues"]
    metrics = {}
    for name, labels in re.findall(r"^(steadfast_\w+)(?:\{(.*)\})? ", text, re.MULTILINE):
        metrics.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return metrics, queues


class Prometheus:
    """A Prometheus that scrapes a node every second, with our alert rules."""

    def __init__(self, address):
        self.scraped = address.removeprefix("http://")

    def __enter__(self):
        self.place = tempfile.TemporaryDirectory()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        scrape = {"job_name": "steadfast", "static_configs": [{"targets": [self.scraped]}]}
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(ALERTS)],
            "scrape_configs": [scrape],
        }
        file = pathlib.Path(self.place.name) / "prometheus.yml"
        file.write_text(yaml.safe_dump(config))
        command = ["prometheus", f"--config.file={file}", f"--storage.tsdb.path={self.place.name}/data"]
        listen = f"--web.listen-address={self.address}"
        self.process = subprocess.Popen([*command, listen], stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.place.cleanup()

    def get(self, path, **query):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url) as response:
            return json.load(response)["data"]

    def wait_for(self, expression):
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                if found := self.get("query", query=expression)["result"]:
                    return found
            if time.monotonic() > deadline:
                raise AssertionError(f"Prometheus has nothing for {expression}")
            time.sleep(0.2)


def run_all():
    """All classes, two at the same time: most of it waits for other programs."""
    cases = (PackageManagers, Chart, Monitoring, Image, Archives, Debian, Foreign) if BINARY else (Foreign,)
    suites = [unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in cases]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda suite: suite.run(unittest.TestResult()), suites))
    for result in results:
        for case, why in result.skipped:
            print(f"left out: {case}: {why}")
        for case, trace in result.failures + result.errors:
            print(f"FAILED: {case}\n{trace}")
    ran = sum(result.testsRun for result in results)
    print(f"{ran} checks of packages ran")
    return all(result.wasSuccessful() for result in results)


if __name__ == "__main__":
    sys.exit(0 if run_all() else 1)
