"""The compiled inner loops of `subspace.py`, on tiles that fit a core's cache.

Lanes (the subspaces of one tile) are always innermost, so that eight or sixteen pairs are solved
at once. Sums over dimensions are unrolled by four: one kernel serves every dimension, and a
running value is fetched once for four products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

Array = NDArray[Any]

#: Pairs solved side by side; a constant, so that no loop has a remainder.
LANES = 32


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def canonicalise(
    offsets: Array, bases: Array, limit: float, stack: Array, lengths: Array
) -> int:  # pragma: no cover - compiled
    """Fill stack (m+1, lanes, n) with the rows [D; d0] of each subspace, and lengths with ‖d0‖².

    Gram–Schmidt in double precision, whatever precision came: float16 rows are orthonormal to
    1e-3 only. Returns how many bases are further than `limit` from orthonormal, or not finite.
    """
    count, m, n = bases.shape
    row = np.empty((m + 1, n), dtype=np.float64)
    refused = 0
    for r in range(count):
        good = True
        for c in range(m + 1):
            for d in range(n):
                row[c, d] = bases[r, c, d] if c < m else offsets[r, d]
            for k in range(c):
                dot = 0.0
                for d in range(n):
                    dot += row[c, d] * row[k, d]
                for d in range(n):
                    row[c, d] -= dot * row[k, d]
                if c < m and not abs(dot) <= limit:
                    good = False
            dot = 0.0
            for d in range(n):
                dot += row[c, d] * row[c, d]
            if c < m:
                if not abs(dot - 1) <= 2 * limit:
                    good = False
                scale = 1 / np.sqrt(dot) if dot > 0 else 0.0
                for d in range(n):
                    row[c, d] *= scale
            elif not dot < np.inf:
                good = False
            else:
                lengths[r] = dot
            for d in range(n):
                stack[c, r, d] = row[c, d]
        if not good:
            refused += 1
    return refused


def _build_add_products(
    _typing: Any, sign: Any, target: Any, x: Any, y: Any, step: Any, count: Any
) -> tuple[Any, Any]:
    """target[:] += sign·Σ_k x[k]·y[k] over `count` rows of LANES values, `step` bytes apart.

    Arguments are addresses. Written as vector instructions, because LLVM cannot know that the
    arrays do not overlap, and would load and store the running sum for every product.
    """

    def build(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        sign, target, x, y, step, count = values
        vector = ir.VectorType(sign.type, LANES)
        align = context.get_abi_sizeof(sign.type)

        def at(address: Any) -> Any:
            return builder.inttoptr(address, vector.as_pointer())

        spread = ir.Constant(vector, ir.Undefined)
        spread = builder.insert_element(spread, sign, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        spread = builder.shuffle_vector(spread, spread, zeros)
        start = builder.load(at(target), align=align)
        before = builder.basic_block
        body, after = builder.append_basic_block("sum"), builder.append_basic_block("stored")
        none = ir.Constant(count.type, 0)
        builder.cbranch(builder.icmp_signed(">", count, none), body, after)
        builder.position_at_end(body)
        k, total = builder.phi(count.type), builder.phi(vector)
        place = builder.mul(k, step)
        first = builder.load(at(builder.add(x, place)), align=align)
        second = builder.load(at(builder.add(y, place)), align=align)
        product = builder.fmul(builder.fmul(spread, first, ("contract",)), second, ("contract",))
        added = builder.fadd(total, product, ("contract",))
        following = builder.add(k, ir.Constant(k.type, 1))
        builder.cbranch(builder.icmp_signed("<", following, count), body, after)
        for phi, entry, again in ((k, none, following), (total, start, added)):
            phi.add_incoming(entry, before)
            phi.add_incoming(again, body)
        builder.position_at_end(after)
        result = builder.phi(vector)
        result.add_incoming(start, before)
        result.add_incoming(added, body)
        builder.store(result, at(target), align=align)
        return context.get_dummy_value()

    return types.void(sign, target, x, y, step, count), build


_add_products: Any = intrinsic(_build_add_products)


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
def solve_tile(
    product: Array,
    levels: Array,
    lengths_a: Array,
    lengths_b: Array,
    limits: Array,
    lanes: int,
    out: Array,
) -> int:  # pragma: no cover - compiled
    """Distances of all pairs of a tile from the products of their stacks.

    product (m_a+1, rows, K, columns) holds [D; d0]·[E; e0]ᵀ, so K = m_b + 1; or, when `levels` is
    not empty, [D; d0]·Fᵀ with the n − m_b normals F of b, whose levels are F·e0.
    Per pair the symmetric matrix [[N, −v], [−vᵀ, ‖r‖² − ‖q‖²]] is eliminated as L·Δ·Lᵀ; its last
    pivot is the squared distance. A pair whose rounding error may matter (limits: noise,
    tolerance, smallest pivot) gets −1; their number is returned.
    `lanes` must be LANES; as an argument it keeps the compiler from unrolling what it vectorises.
    """
    m = product.shape[0] - 1
    dual = levels.shape[0] > 0
    inner = product.shape[2] if dual else product.shape[2] - 1
    rows, columns = out.shape
    kind = product.dtype.type
    zero, one, two = kind(0), kind(1), kind(2)
    sign = one if dual else -one
    noise, tolerance, floor = limits[0], limits[1], limits[2]
    work = np.empty((m + 1, m + 1, LANES), dtype=product.dtype)  # L·Δ, its pivots on the diagonal
    low = np.empty((m + 1, m + 1, LANES), dtype=product.dtype)  # L
    along = np.empty((m + 1, LANES), dtype=product.dtype)
    inverse = np.empty(LANES, dtype=product.dtype)
    pivot = np.empty(LANES, dtype=product.dtype)
    size = np.empty(LANES, dtype=product.dtype)
    at, step_a, step_i, step_k, item = product.ctypes.data, *product.strides
    at_work, work_a, work_c, _ = work.ctypes.data, *work.strides
    at_low, at_along, along_c = low.ctypes.data, along.ctypes.data, along.strides[0]
    unsure = 0
    for i in range(rows):
        for s in range(0, columns, LANES):
            here = at + i * step_i + s * item
            if dual:
                for b in range(inner):
                    for j in range(lanes):
                        product[m, i, b, s + j] -= levels[b, s + j]
            for j in range(lanes):
                pivot[j] = one
            for c in range(m + 1):
                for a in range(c, m + 1):
                    if dual:
                        for j in range(lanes):
                            work[a, c, j] = zero
                    elif c == m:
                        length = lengths_a[i]
                        for j in range(lanes):
                            cross = two * product[m, i, inner, s + j]
                            work[a, c, j] = length + lengths_b[s + j] - cross
                    elif a == m:
                        for j in range(lanes):
                            work[a, c, j] = -product[c, i, inner, s + j]
                    else:
                        start = one if a == c else zero
                        for j in range(lanes):
                            work[a, c, j] = start
                    target = at_work + a * work_a + c * work_c
                    _add_products(sign, target, here + a * step_a, here + c * step_a, step_k, inner)
                    _add_products(
                        -one, target, at_low + a * work_a, at_work + c * work_a, work_c, c
                    )
                if c < m:
                    for j in range(lanes):
                        value = work[c, c, j]
                        pivot[j] = min(pivot[j], value)
                        inverse[j] = one / max(value, floor)
                    for a in range(c + 1, m + 1):
                        for j in range(lanes):
                            low[a, c, j] = work[a, c, j] * inverse[j]
            # How far along D the nearest point lies: that is what magnifies rounding errors.
            for j in range(lanes):
                size[j] = zero
            for c in range(m - 1, -1, -1):
                for j in range(lanes):
                    along[c, j] = low[m, c, j]
                for a in range(c + 1, m):
                    _add_products(
                        -one,
                        at_along + c * along_c,
                        at_low + a * work_a + c * work_c,
                        at_along + a * along_c,
                        0,
                        1,
                    )
                for j in range(lanes):
                    size[j] += along[c, j] * along[c, j]
            length = lengths_a[i]
            for j in range(lanes):
                scale = length + lengths_b[s + j]
                error = noise * (scale + size[j])
                distance = np.sqrt(max(work[m, m, j], zero))
                allowed = tolerance * np.sqrt(scale)
                bad = (error > allowed * max(distance, allowed)) | (pivot[j] < floor)
                size[j] = -one if bad else distance
            for j in range(min(lanes, columns - s)):
                out[i, s + j] = size[j]
                unsure += size[j] < zero
    return unsure


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
def solve_points(
    product: Array, lengths_a: Array, lengths_b: Array, limits: Array, out: Array
) -> int:  # pragma: no cover - compiled
    """The same where a are points: ‖e‖² + ‖d0‖² − 2·d0·e − ‖D·e‖², nothing to eliminate.

    product (rows, K, columns) holds e·[D; d0]ᵀ. Whole rows are swept, which LLVM vectorises.
    """
    rows, columns = out.shape
    inner = product.shape[1] - 1
    kind = product.dtype.type
    zero, one, two = kind(0), kind(1), kind(2)
    share = limits[0] / limits[1]  # rounding matters below this share of the offsets' length
    least = share * share if share > limits[1] else zero
    total = np.empty(columns, dtype=product.dtype)
    unsure = 0
    for i in range(rows):
        length = lengths_a[i]
        for j in range(columns):
            total[j] = length + lengths_b[j] - two * product[i, inner, j]
        for k in range(inner):
            for j in range(columns):
                total[j] -= product[i, k, j] * product[i, k, j]
        few = 0
        for j in range(columns):
            few += total[j] < least * (length + lengths_b[j])
            out[i, j] = np.sqrt(max(total[j], zero))
        if few:
            unsure += few
            for j in range(columns):
                if total[j] < least * (length + lengths_b[j]):
                    out[i, j] = -one
    return unsure
