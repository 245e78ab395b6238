"""The installed version of jaxlib. One that arrax does not know is refused before anything of it is used."""

from jaxlib.version import __version__ as jaxlib_version

OLDEST, TOO_NEW = (0, 10, 2), (0, 13)  # as pyproject.toml says

installed = tuple(int(part) for part in jaxlib_version.split(".")[:3])

if not OLDEST <= installed < TOO_NEW:
    least, bound = (".".join(map(str, version)) for version in (OLDEST, TOO_NEW))
    kind = "old" if installed < OLDEST else "new"
    raise ImportError(
        f"jaxlib {jaxlib_version} is too {kind} for arrax, which works with {least} and later versions below {bound}: "
        f"pip install 'jaxlib>={least},<{bound}'"
    )
