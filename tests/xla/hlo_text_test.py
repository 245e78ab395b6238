"""The compiler's texts are read, also as other platforms and versions write them."""

from arrax.xla.hlo_text import read_hlo, size_of_type
from arrax.xla.live_buffers import buffers_at_peak

TEXT = """HloModule jit_f, is_scheduled=true, input_output_alias={ {1}: (0, {}, may-alias), {}: (2, {}, must-alias) }, buffer_donor={ (3, {}) }

FileNames
1 "/home/me/f.py"

FunctionNames
1 "outer.<locals>.f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=2 end_column=9}

StackFrames
4 {file_location_id=1 parent_frame_id=1}


%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], /*index=1*/f32[8]{0}) parameter(0)
  %x = f32[8]{0} get-tuple-element(%p), index=1
  %n = s32[] get-tuple-element(%p), index=0
  %wide = f32[8,8]{1,0} broadcast(%x), dimensions={0}, metadata={op_name="jit(f)/while/body/wide" stack_frame_id=4}
  %thin = f32[8]{0} reduce(%wide, %n), dimensions={0}, to_apply=%add
  ROOT %t = (s32[], f32[8]{0}) tuple(%n, %thin)
}

ENTRY %main (a.1: f32[8], b: f32[8]) -> (s32[], f32[8]) {
  %a.1 = f32[8]{0:T(128)S(5)} parameter(1), metadata={op_name="a[\\'b\\']"}
  %zero = s32[] constant(0)
  %copied = f32[8]{0} copy(%a.1)
  %start = (s32[], f32[8]{0}) tuple(%zero, %copied)
  ROOT %loop = (s32[], f32[8]{0}) while(%start), condition=%cond, body=%body
}
"""


def test_instructions_are_read_with_names_lines_and_calls():
    program = read_hlo(TEXT)
    assert (program.name, program.entry, list(program.computations)) == ("jit_f", "main", ["body", "main"])
    wide = program.computations["body"][3]
    assert (wide.opcode, wide.type, wide.size, wide.operands) == ("broadcast", "f32[8,8]", 256, ("x",))
    assert (wide.op_name, wide.line) == ("jit(f)/while/body/wide", "/home/me/f.py:7 (f)")
    loop = program.computations["main"][-1]
    assert loop.root and set(loop.called) == {"cond", "body"} and loop.size == 36
    assert program.computations["main"][0].op_name == "a['b']"
    argument = program.computations["main"][0]
    assert argument.number == 1 and argument.on_host and not loop.on_host
    assert program.aliases == (("1", 0), ("", 2)) and program.donors == (3,)


def test_values_in_loops_are_alive_with_those_outside():
    assert [(one.maker.name, one.size) for one in buffers_at_peak(read_hlo(TEXT))] == [
        ("wide", 256),
        ("a.1", 32),
        ("copied", 32),
        ("thin", 32),
    ]


def test_sizes_of_types():
    assert size_of_type("(f32[2,3], pred[5], bf16[4], token[], c64[], u4[3])") == 24 + 5 + 8 + 0 + 8 + 2
    assert size_of_type("f8e4m3fn[10]") == 10
