"""The texts of programs with control flow, as the documentation prints them."""

import numpy as np

import arrax
from arrax import lax

ONES = np.ones(16, np.float32)


def printed(fun, *args):
    return str(arrax.make_jaxpr(fun)(*args))


def strong(x):
    return lax.convert_element_type(x, np.float32)


def test_switch():
    def one_of_three(index, arg):
        return lax.switch(index, [lambda x: lax.add(x, 1.0), lambda x: lax.sub(x, 2.0), lambda x: lax.add(x, 3.0)], arg)

    assert (
        printed(one_of_three, 1, 5.0)
        == """\
{ lambda ; a:i32[] b:f32[]. let
    c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] a
    d:i32[] = clamp 0 c 2
    e:f32[] = cond[
      branches=(
        { lambda ; f:f32[]. let g:f32[] = add f 1.0 in (g,) }
        { lambda ; h:f32[]. let i:f32[] = sub h 2.0 in (i,) }
        { lambda ; j:f32[]. let k:f32[] = add j 3.0 in (k,) }
      )
      linear=(False,)
    ] d b
  in (e,) }"""
    )


def test_cond():
    def away_from_zero(number):
        positive = lax.ge(number, 0.0)
        return lax.cond(positive, lambda n: lax.mul(n, 0.5), lambda n: lax.exp(n), number)

    assert (
        printed(away_from_zero, 5.0)
        == """\
{ lambda ; a:f32[]. let
    b:bool[] = ge a 0.0
    c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b
    d:f32[] = cond[
      branches=(
        { lambda ; e:f32[]. let f:f32[] = exp e in (f,) }
        { lambda ; g:f32[]. let h:f32[] = mul g 0.5 in (h,) }
      )
      linear=(False,)
    ] c a
  in (d,) }"""
    )


def test_a_constant_of_one_branch_is_hoisted_and_passed_to_all():
    constant = np.array([1], np.int32)

    def func8(arg1, arg2):
        return lax.cond(lax.ge(arg1, 0.0), lambda x: x[0], lambda x: lax.add(strong(constant), strong(x[1])), arg2)

    assert (
        printed(func8, 5.0, (np.zeros(1, np.float32), 2.0))
        == """\
{ lambda a:i32[1]; b:f32[] c:f32[1] d:f32[]. let
    e:bool[] = ge b 0.0
    f:i32[] = convert_element_type[new_dtype=int32 weak_type=False] e
    g:f32[1] = cond[
      branches=(
        { lambda ; h:i32[1] i:f32[1] j:f32[]. let
            k:f32[1] = convert_element_type[new_dtype=float32 weak_type=False] h
            l:f32[] = convert_element_type[new_dtype=float32 weak_type=False] j
            m:f32[1] = add k l
          in (m,) }
        { lambda ; n_:i32[1] o:f32[1] p:f32[]. let  in (o,) }
      )
      linear=(False, False, False)
    ] f a c d
  in (g,) }"""
    )


def test_while():
    def func10(arg, n):
        ones = lax.full(arg.shape, 1.0)
        return lax.fori_loop(
            0, n, lambda i, carry: lax.add(lax.add(carry, lax.mul(ones, 3.0)), arg), lax.add(arg, ones)
        )

    assert (
        printed(func10, ONES, 5)
        == """\
{ lambda ; a:f32[16] b:i32[]. let
    c:f32[16] = broadcast_in_dim[broadcast_dimensions=() shape=(16,)] 1.0
    d:f32[16] = add a c
    _:i32[] _:i32[] e:f32[16] = while[
      body_jaxpr={ lambda ; f:f32[16] g:f32[16] h:i32[] i:i32[] j:f32[16]. let
          k:i32[] = add h 1
          l:f32[16] = mul f 3.0
          m:f32[16] = add j l
          n:f32[16] = add m g
        in (k, i, n) }
      body_nconsts=2
      cond_jaxpr={ lambda ; o:i32[] p:i32[] q:f32[16]. let
          r:bool[] = lt o p
        in (r,) }
      cond_nconsts=0
    ] c a 0 b d
  in (e,) }"""
    )


def test_scan():
    def func11(arr, extra):
        ones = lax.full(arr.shape, 1.0)

        def body(carry, aelems):
            ae1, ae2 = aelems
            product = lax.mul(ae1, ae2)
            return lax.add(lax.add(strong(carry), product), strong(extra)), carry

        return lax.scan(body, 0.0, (arr, ones))

    assert (
        printed(func11, ONES, 5.0)
        == """\
{ lambda ; a:f32[16] b:f32[]. let
    c:f32[16] = broadcast_in_dim[broadcast_dimensions=() shape=(16,)] 1.0
    d:f32[] e:f32[16] = scan[
      _split_transpose=False
      jaxpr={ lambda ; f:f32[] g:f32[] h:f32[] i:f32[]. let
          j:f32[] = mul h i
          k:f32[] = convert_element_type[new_dtype=float32 weak_type=False] g
          l:f32[] = add k j
          m:f32[] = convert_element_type[new_dtype=float32 weak_type=False] f
          n:f32[] = add l m
        in (n, g) }
      length=16
      linear=(False, False, False, False)
      num_carry=1
      num_consts=1
      reverse=False
      unroll=1
    ] b 0.0 a c
  in (d, e) }"""
    )


def test_a_loop_with_known_bounds_is_a_scan():
    text = printed(lambda x: lax.fori_loop(0, 5, lambda i, c: lax.mul(c, x), x), np.float32(3))
    assert "_:i32[] b:f32[] = scan[" in text and "length=5" in text and "num_carry=2" in text
