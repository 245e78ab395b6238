"""All programs by name."""

from __future__ import annotations

from benchmarks.programs import learning, science

PROGRAMS = {program.name: program for program in (*learning.PROGRAMS, *science.PROGRAMS)}
