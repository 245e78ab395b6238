"""Record what the reference draws: run by an interpreter that has JAX 0.10.2, from this folder.

python record.py
"""

import jax
import numpy as np
import recorded_cases
import recording


def main() -> None:
    """All draws in all settings."""
    results = {}
    for x64, partitionable in recorded_cases.SETTINGS:
        with jax.enable_x64(x64), jax.threefry_partitionable(partitionable):
            keys = recorded_cases.keys_of(jax)
            for name, draw in recorded_cases.cases(jax, x64, partitionable).items():
                for seed, key in keys.items():
                    results[f"{int(x64)}{int(partitionable)} {name} {seed}"] = np.asarray(draw(key))
    recording.save(results)


if __name__ == "__main__":
    main()
