"""All programs by name."""

from __future__ import annotations

from benchmarks.programs import learning, patterns, science

PROGRAMS = {program.name: program for program in (*learning.PROGRAMS, *science.PROGRAMS, *patterns.PROGRAMS)}
