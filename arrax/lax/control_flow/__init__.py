"""Control flow: conditionals, loops, scans, maps, and solvers whose derivatives come from what they solve."""

from arrax.lax.control_flow.conditional_rules import cond_p, platform_index_p
from arrax.lax.control_flow.conditionals import cond, platform_dependent, switch
from arrax.lax.control_flow.loop_rules import while_p
from arrax.lax.control_flow.loops import fori_loop, while_loop
from arrax.lax.control_flow.mapping import map
from arrax.lax.control_flow.scan_rules import scan_p
from arrax.lax.control_flow.scans import scan
from arrax.lax.control_flow.solves import custom_linear_solve, custom_root

__all__ = [
    "cond",
    "cond_p",
    "custom_linear_solve",
    "custom_root",
    "fori_loop",
    "map",
    "platform_dependent",
    "platform_index_p",
    "scan",
    "scan_p",
    "switch",
    "while_loop",
    "while_p",
]
