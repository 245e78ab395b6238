"""What private names that libraries look up stand for where arrax has no such thing."""


class TypedNdArray:
    """Constants of traced programs are plain arrays in arrax: nothing is an instance of this class."""


class TypedInt:
    """Numbers in traced programs are Python's: nothing is an instance of this class."""


class TypedFloat:
    """Like ``TypedInt``."""


class TypedComplex:
    """Like ``TypedInt``."""
