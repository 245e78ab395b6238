"""The store of compiled programs on disk: what it keeps, what it refuses, and what it survives."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from arrax.xla import disk_eviction, disk_store
from arrax.xla.disk_store import DiskStore

KEY, PAYLOAD = b"program" * 40, bytes(range(256)) * 16
posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX owners and modes")


@pytest.fixture
def warned():
    return []


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def store(folder, warned):
    return DiskStore(folder, warn=warned.append)


def entry_paths(folder):
    return sorted(path for path in folder.iterdir() if path.name.endswith(disk_eviction.ENTRY_SUFFIX))


def temporary_paths(folder):
    return [path for path in folder.iterdir() if path.name.endswith(disk_eviction.TEMPORARY_SUFFIX)]


def stored(store, folder, key=KEY, payload=PAYLOAD):
    """The path of the entry after a put."""
    before = set(entry_paths(folder)) if folder.exists() else set()
    store.put(key, payload)
    (path,) = set(entry_paths(folder)) - before
    return path


def run_python(program, *arguments):
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True)


# What it keeps


@pytest.mark.parametrize("key", [b"", b"k", b"\0" * 33, os.urandom(100_000)], ids=len)
@pytest.mark.parametrize("payload", [b"", b"p", os.urandom(300_000)], ids=len)
def test_what_was_put_is_got(store, warned, key, payload):
    assert store.get(key) is None
    store.put(key, payload)
    assert store.get(key) == payload
    assert not warned


def test_a_later_put_replaces_an_earlier_one(store):
    store.put(KEY, b"old")
    store.put(KEY, b"new")
    assert store.get(KEY) == b"new"


def test_another_store_and_another_process_get_it_too(store, folder):
    store.put(KEY, PAYLOAD)
    assert DiskStore(folder).get(KEY) == PAYLOAD
    program = "import sys; from arrax.xla.disk_store import DiskStore; print(DiskStore(sys.argv[1]).get(b'short'))"
    store.put(b"short", b"seen")
    assert run_python(program, folder).stdout.strip() == "b'seen'"


def test_clear_removes_the_entries_and_nothing_else(store, folder):
    store.put(KEY, PAYLOAD)
    store.put(b"other", PAYLOAD)
    (folder / "notes.txt").write_text("mine")
    (folder / "deed.entry").write_text("mine too")
    store.clear()
    assert store.get(KEY) is None
    assert sorted(path.name for path in folder.iterdir()) == ["deed.entry", "notes.txt"]


def test_nothing_touches_the_disk_before_the_first_use(folder):
    store = DiskStore(folder)
    assert not folder.exists()
    assert store.get(KEY) is None
    store.clear()
    assert not folder.exists()


def test_a_folder_removed_in_between_is_made_again(store, folder, warned):
    stored(store, folder).unlink()
    folder.rmdir()
    assert store.get(KEY) is None
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) == PAYLOAD
    assert not warned


def test_a_relative_folder_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = DiskStore("store")
    store.put(KEY, PAYLOAD)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert store.get(KEY) == PAYLOAD


def test_the_users_random_numbers_are_left_alone(folder):
    program = """if True:
        import random, sys
        from arrax.xla.disk_store import DiskStore
        random.seed(0)
        state = random.getstate()
        DiskStore(sys.argv[1]).put(b"key", b"payload")
        print(random.getstate() == state)
    """
    assert run_python(program, folder).stdout.strip() == "True"


# Where it lies


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="other rules there")
class TestDefaultFolder:
    def test_it_follows_xdg_cache_home(self, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
        assert disk_store.default_folder() == "/caches/arrax"

    @pytest.mark.parametrize("value", ["", "relative/path"])
    def test_it_is_in_the_home_otherwise(self, monkeypatch, value):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        monkeypatch.setenv("HOME", "/home/someone")
        assert disk_store.default_folder() == "/home/someone/.cache/arrax"

    def test_there_is_none_without_a_home(self, monkeypatch):
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
        assert disk_store.default_folder() is None

    def test_macos_has_a_folder_of_its_own(self, monkeypatch):
        monkeypatch.setattr(sys, "platform", "darwin")
        monkeypatch.setenv("HOME", "/Users/someone")
        assert disk_store.default_folder() == "/Users/someone/Library/Caches/arrax"


# What it refuses


def cut_off(data):
    return data[: len(data) // 2]


def flip_a_payload_bit(data):
    return data[:-1] + bytes([data[-1] ^ 1])


def flip_a_header_bit(data):
    return data[:30] + bytes([data[30] ^ 1]) + data[31:]


DAMAGES = {
    "empty": lambda data: b"",
    "header only": lambda data: data[:20],
    "cut off": cut_off,
    "one byte short": lambda data: data[:-1],
    "one byte long": lambda data: data + b"\0",
    "a bit of the payload": flip_a_payload_bit,
    "a bit of the header": flip_a_header_bit,
    "another magic": lambda data: b"SOMETHIN" + data[8:],
    "another version": lambda data: data[:8] + b"\2" + data[9:],
    "zeros": lambda data: bytes(len(data)),
    "a pickle": lambda data: b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.",
    "lengths beyond reason": lambda data: data[:12] + b"\xff" * 16 + data[28:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_absent_and_removed_with_a_warning(store, folder, warned, damage):
    path = stored(store, folder)
    path.write_bytes(damage(path.read_bytes()))
    assert store.get(KEY) is None
    assert not path.exists()
    assert len(warned) == 1 and "an entry " in warned[0]
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) == PAYLOAD


def test_every_single_flipped_bit_is_noticed(store, folder):
    path = stored(store, folder, b"key", b"payload")
    whole = path.read_bytes()
    for position in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[position // 8] ^= 1 << position % 8
        path.write_bytes(flipped)
        assert store.get(b"key") is None, position


def test_entries_swapped_for_one_another_are_absent(store, folder):
    first, second = stored(store, folder), stored(store, folder, b"other" * 56)
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    assert store.get(KEY) is None
    assert store.get(b"other" * 56) is None


def test_an_entry_hard_linked_to_another_is_absent(store, folder):
    first, second = stored(store, folder), stored(store, folder, b"other")
    first.unlink()
    os.link(second, first)
    assert store.get(KEY) is None
    assert store.get(b"other") == PAYLOAD


def test_an_entry_that_is_a_symbolic_link_is_absent(store, folder, tmp_path):
    path = stored(store, folder)
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    assert store.get(KEY) is None
    store.put(KEY, b"own")
    assert store.get(KEY) == b"own"
    assert (tmp_path / "moved").stat().st_size > len(PAYLOAD)


@posix
def test_a_fifo_in_an_entrys_place_does_not_hang(store, folder, warned):
    path = stored(store, folder)
    path.unlink()
    os.mkfifo(path, 0o600)
    assert store.get(KEY) is None
    assert len(warned) == 1


def test_a_folder_in_an_entrys_place_does_not_raise(store, folder, warned):
    path = stored(store, folder)
    path.unlink()
    path.mkdir()
    assert store.get(KEY) is None
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) is None
    assert len(warned) == 1
    assert not temporary_paths(folder)
    store.clear()


@posix
def test_the_folder_and_the_entries_are_the_users_alone(store, folder):
    path = stored(store, folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o077 == 0


@posix
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_may_write_is_not_used(store, folder, warned, mode):
    path = stored(store, folder)
    folder.chmod(mode)
    assert store.get(KEY) is None
    store.put(b"other", PAYLOAD)
    store.clear()
    assert entry_paths(folder) == [path]
    assert len(warned) == 1 and "other users" in warned[0]


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_an_entry_that_others_may_write_is_not_used(store, folder, warned, mode):
    stored(store, folder).chmod(mode)
    assert store.get(KEY) is None
    assert len(warned) == 1


@posix
def test_what_belongs_to_another_user_is_not_used(store, folder, warned, monkeypatch):
    path = stored(store, folder)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert store.get(KEY) is None
    store.put(b"other", PAYLOAD)
    assert entry_paths(folder) == [path]
    assert len(warned) == 1 and "another user" in warned[0]


def test_a_folder_that_is_a_symbolic_link_is_not_used(store, folder, warned, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) is None
    assert not list((tmp_path / "elsewhere").iterdir())
    assert len(warned) == 1


# What it survives


def test_a_folder_that_cannot_be_made_gives_one_warning(tmp_path, warned):
    (tmp_path / "file").write_text("in the way")
    store = DiskStore(tmp_path / "file" / "store", warn=warned.append)
    for _ in range(3):
        store.put(KEY, PAYLOAD)
        assert store.get(KEY) is None
        store.clear()
    assert len(warned) == 1 and str(tmp_path) in warned[0]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("step", ["write_entry", "replace"])
def test_a_failing_disk_gives_one_warning_and_leaves_nothing(store, folder, warned, monkeypatch, code, step):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(*((disk_store, step) if step == "write_entry" else (os, step)), fail)
    store.put(KEY, PAYLOAD)
    store.put(b"other", PAYLOAD)
    assert list(folder.iterdir()) == []
    assert len(warned) == 1 and os.strerror(code) in warned[0]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE])
def test_an_unreadable_entry_is_absent_and_stays(store, folder, warned, monkeypatch, code):
    path = stored(store, folder)

    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "open", fail)
    assert store.get(KEY) is None
    assert store.get(KEY) is None
    assert path.exists()
    assert len(warned) == 1


def test_a_folder_that_cannot_be_listed_gives_one_warning(folder, warned, monkeypatch):
    store = DiskStore(folder, max_bytes=6000, warn=warned.append)
    monkeypatch.setattr(os, "scandir", lambda _: (_ for _ in ()).throw(PermissionError("no listing")))
    store.put(KEY, PAYLOAD)
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) == PAYLOAD
    assert len(warned) == 1


def test_a_warning_that_raises_is_harmless(tmp_path):
    def refuse(message):
        raise RuntimeWarning(message)

    (tmp_path / "file").write_text("in the way")
    DiskStore(tmp_path / "file" / "store", warn=refuse).put(KEY, PAYLOAD)


def test_the_warning_is_a_python_warning_by_default(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="cache of compiled programs") as caught:
        DiskStore(tmp_path / "file" / "store").put(KEY, PAYLOAD)
    assert caught[0].filename == __file__


def test_nothing_is_said_while_the_interpreter_ends(tmp_path, warned, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(disk_store.sys, "is_finalizing", lambda: True)
    DiskStore(tmp_path / "file" / "store", warn=warned.append).put(KEY, PAYLOAD)
    assert warned == []


def test_failures_are_raised_where_that_is_asked_for(folder, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RuntimeError, match="could not write"):
        DiskStore(tmp_path / "file" / "store", raises=lambda: True).put(KEY, PAYLOAD)
    store = DiskStore(folder, raises=lambda: True)
    path = stored(store, folder)
    path.write_bytes(flip_a_payload_bit(path.read_bytes()))
    with pytest.raises(RuntimeError, match="other bytes than were written"):
        store.get(KEY)
    assert store.get(KEY) is None


def test_an_interrupt_passes_through_and_leaves_nothing(store, folder, warned, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(disk_store, "write_entry", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.put(KEY, PAYLOAD)
    assert list(folder.iterdir()) == []
    monkeypatch.undo()
    store.put(KEY, PAYLOAD)
    monkeypatch.setattr(disk_store, "read_entry", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.get(KEY)
    assert not warned


KILLED_WRITER = """if True:
    import os, signal, sys
    from arrax.xla import disk_store
    folder, step = sys.argv[1:]
    die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)

    def write_half(file, key, payload):
        whole = __import__("io").BytesIO()
        write_entry(whole, key, payload)
        file.write(whole.getvalue()[:len(whole.getvalue()) // 2])
        file.flush()
        die()

    write_entry = disk_store.write_entry
    if step == "writing":
        disk_store.write_entry = write_half
    else:
        os.replace = die
    disk_store.DiskStore(folder).put(b"key", b"payload" * 1000)
"""


@posix
@pytest.mark.parametrize("step", ["writing", "renaming"])
def test_a_process_killed_while_it_writes_leaves_no_entry(folder, warned, step):
    assert run_python(KILLED_WRITER, folder, step).returncode == -signal.SIGKILL
    store = DiskStore(folder, warn=warned.append)
    assert store.get(b"key") is None
    assert len(temporary_paths(folder)) == 1
    store.put(b"key", b"anew")
    assert store.get(b"key") == b"anew"
    assert not warned


BUSY_WRITER = """if True:
    import itertools, sys
    from arrax.xla.disk_store import DiskStore
    store = DiskStore(sys.argv[1], max_bytes=400_000)
    for count in itertools.count():
        key = b"key %d" % (count % 7)
        store.put(key, key * 3000 + bytes([count % 256]) * 3000)
        print(count, flush=True)
"""


@posix
def test_processes_killed_at_any_moment_leave_only_right_entries(folder, warned):
    writers = [
        subprocess.Popen([sys.executable, "-c", BUSY_WRITER, str(folder)], stdout=subprocess.PIPE) for _ in range(3)
    ]
    for lines, writer in enumerate(writers, 1):
        for _ in range(lines * 20):
            assert writer.stdout.readline()
        writer.kill()
        writer.communicate()
    store = DiskStore(folder, warn=warned.append)
    found = 0
    for number in range(7):
        key = b"key %d" % number
        payload = store.get(key)
        if payload is not None:
            found += 1
            assert payload[: len(key) * 3000] == key * 3000
            assert len(payload) == len(key) * 3000 + 3000 and len(set(payload[-3000:])) == 1
    assert found and not warned


def test_threads_share_a_store(folder, warned):
    store = DiskStore(folder, max_bytes=60_000, warn=warned.append)
    wrong = []

    def work(seed):
        for count in range(60):
            key = b"key %d" % ((seed * 7 + count) % 20)
            store.put(key, key * 500)
            payload = store.get(key)
            if payload not in (None, key * 500):
                wrong.append(key)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and not warned
    assert not temporary_paths(folder)


# How large it grows


def total_size(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


def age(path, seconds):
    when = time.time() - seconds
    os.utime(path, (when, when))


def test_the_bound_holds(folder):
    store = DiskStore(folder, max_bytes=50_000)
    for count in range(60):
        store.put(b"key %d" % count, bytes(4000))
    assert 30_000 < total_size(folder) <= 50_000


def test_the_bound_holds_for_many_small_entries(folder):
    store = DiskStore(folder, max_bytes=50_000)
    for count in range(1000):
        store.put(b"key %d" % count, bytes(100))
    assert 30_000 < total_size(folder) <= 50_000


def test_a_payload_larger_than_the_bound_is_not_stored(folder):
    store = DiskStore(folder, max_bytes=1000)
    store.put(KEY, bytes(1001))
    assert not folder.exists()


def test_an_entry_as_large_as_the_bound_is_kept_alone(folder):
    store = DiskStore(folder, max_bytes=50_000)
    store.put(b"small", bytes(1000))
    age(entry_paths(folder)[0], 10)
    store.put(b"large", bytes(49_000))
    assert store.get(b"small") is None
    assert store.get(b"large") == bytes(49_000)


def test_sweeps_are_far_fewer_than_puts(folder, monkeypatch):
    sweeps = []
    monkeypatch.setattr(disk_eviction, "sweep", lambda *arguments: sweeps.append(arguments))
    store = DiskStore(folder, max_bytes=1_600_000)
    for count in range(200):
        store.put(b"key %d" % count, bytes(900))
    assert len(sweeps) in (1, 2, 3)


def test_the_entries_used_least_recently_go_first(folder):
    store = DiskStore(folder)
    paths = [stored(store, folder, b"key %d" % count, bytes(1000)) for count in range(10)]
    for count, path in enumerate(paths):
        age(path, 1000 - count)
    assert store.get(b"key 0") is not None
    disk_eviction.sweep(str(folder), 8000, time.time())
    assert paths[0].exists() and paths[9].exists()
    assert not paths[1].exists() and not paths[2].exists()


def test_a_hit_renews_an_entry_at_most_once_a_minute(store, folder):
    path = stored(store, folder)
    age(path, 30)
    before = path.stat().st_mtime
    store.get(KEY)
    assert path.stat().st_mtime == before
    age(path, 90)
    store.get(KEY)
    assert path.stat().st_mtime > before


def test_a_hit_counts_where_times_cannot_be_set(store, folder, warned, monkeypatch):
    age(stored(store, folder), 1000)
    monkeypatch.setattr(os, "utime", lambda *_: (_ for _ in ()).throw(PermissionError))
    assert store.get(KEY) == PAYLOAD
    assert not warned


@pytest.mark.parametrize("remove", ["sweep", "clear"])
def test_only_stale_temporary_files_are_removed(store, folder, remove):
    store.put(KEY, PAYLOAD)
    old, new = (folder / disk_eviction.temporary_name("0" * 64) for _ in range(2))
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    age(old, 3700)
    store.clear() if remove == "clear" else disk_eviction.sweep(str(folder), 1 << 30, time.time())
    assert not old.exists() and new.exists()


def test_small_entries_are_bounded_in_number(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_eviction, "MAX_FILES", 32)
    store = DiskStore(tmp_path / "store", 1 << 30)
    for number in range(100):
        store.put(bytes([number]), b"small")
    left = [name for name in os.listdir(tmp_path / "store") if name.endswith(".entry")]
    assert 24 <= len(left) <= 34 and store.get(bytes([99])) == b"small"
