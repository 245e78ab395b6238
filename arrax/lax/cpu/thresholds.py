"""From which sizes on the CPU's own forms of operations are faster than the compiler's code.

Both give the same bits, so these numbers change times and nothing else. ``make calibrate`` measures both sides over sizes on
the machine it runs on, and prints where they cross.
"""

from __future__ import annotations

# fmt: off
SORT_MIN_SIZE         = 1_000    # elements: sort and partition by a kernel, whose call costs some 30 us
ORDER_STATISTICS_SIZE = 1_500    # elements: order statistics by a kernel, whose call costs some 90 us
TOP_K_MIN_SIZE        = 20_000   # elements: top_k by a kernel
TOP_K_MIN_LENGTH      = 100      # elements of a row
REDUCE_MIN_SIZE       = 65_536   # elements: reductions of integers and flags, argmax and argmin by a kernel
REDUCE_MIN_LENGTH     = 128      # elements of a row of bytes and of rows that are searched: NumPy takes some 50 ns for each row
REDUCE_MIN_INT_LENGTH = 2_048    # elements of a row of wider integers
REDUCE_MIN_HEIGHT     = 64       # elements of a column
REDUCE_MIN_WIDTH      = 512      # columns
ARGMAX_PAIRS_LENGTH   = 16       # elements that are searched pair by pair, in few turns of a loop, which the compiler unrolls
ARGMAX_PAIRS_ROW      = 20       # the same of a row
ARGMAX_FUSED_LENGTH   = 12       # elements of a row that are searched so, in one loop with what computes them
ARGMAX_FUSED_GROUP    = 10       # elements of a column, or of a part of a row, that are searched so
ARGMAX_PAIRS_SIZE     = 2_048    # elements: fewer are searched pair by pair
ARGMAX_COLUMNS_SIZE   = 256      # elements: fewer are searched pair by pair along other axes than the last
EXTREME_MAX_HALVED    = 64       # elements over which extremes are found half against half, along other axes than the last
EXTREME_MAX_FOLDED    = 12       # elements of a row of 32 or more bits whose extreme is found element by element
EXTREME_FOLDED_ROWS   = 4        # rows of any length of which the last few elements go one by one, which compiles sooner
EXTREME_MIN_ROW       = 8        # elements of a row of 16-bit numbers that goes by windows, where there are more; twice as many of wider ones
EXTREME_FUSED_WORK    = 4        # additions for each element of 32 bits that may be repeated in windows that overlap
EXTREME_MIN_COLUMNS   = 64       # columns of computed elements that are compared in the loop that computes them
EXTREME_WINDOWS       = 8        # windows that are compared at once
POOLING_MAX_ELEMENTS  = 32       # elements of a window: sums, min and max and their derivatives element by element
POOLING_SIDE_BY_SIDE  = 8        # elements of a window along the last axis: sums of windows that do not overlap
DEPTHWISE_MAX_TAPS    = 50       # elements of a kernel that each channel is convolved with by itself
DEPTHWISE_ROW         = 8        # elements of a row of a larger one that are taken at once
DEPTHWISE_EVEN_TAPS   = 8        # elements of one for which a vector is convolved at a few places more, which divide evenly
DEPTHWISE_EVEN_LENGTH = 2_048    # places of such a vector
KERNEL_GRADIENT_MIN_PRODUCTS = 8_192  # of a channel: derivatives of depthwise layers by a loop over the kernel
FLAGS_MIN_ROW         = 2_200    # elements of a row of flags that are reduced as floats, where no kernel takes them
FLAGS_MIN_SIZE        = 16_384   # elements: indices of flags by a kernel
JOIN_MIN_SIZE         = 262_144  # elements: parts of an array side by side by a kernel
JOIN_MIN_ROW_BYTES    = 1_024
JOIN_MIN_BYTES        = 196_608  # bytes of a vector that is joined of unequal parts: these are written one after the other
EVEN_MULTIPLE         = 16       # elements: loops over multiples of it divide evenly among processors, into vectors, too
JOIN_MAX_WRITTEN      = 8        # parts that are
JOIN_MAX_INNER        = 16       # elements after the axis; where there are more, the compiler copies as fast
JOIN_MAX_PARTS        = 4        # parts of one array whose rows are taken by their places
JOIN_MAX_FUSED        = 8        # parts that the compiler computes in the loop of their join
JOIN_GROUPED_SIZE     = 4_096    # elements of a join of more parts, which is made group by group
JOIN_REPEATED_WORK    = 1_000    # additions for what parts of such a join have in common, computed for each
WINDOW_MIN_SIZE       = 512      # elements that are joined of an array's end and its beginning: fewer are looked up
WINDOW_MIN_ROW        = 48       # elements of the row that a join makes
WINDOW_MAX_TWICE      = 32_768   # elements of an array that is repeated whole: one kernel, where its ends alone take three
PRODUCT_FEW_COLUMNS   = 16       # columns of a matrix that stands on the left in sums over rows, beside one of twice as many
PRODUCT_FEW_ROWS      = 32       # rows of one that stands on the right in sums over columns
PRODUCT_MIN_WORK      = 32_768   # multiplications of such products: less does not pay for compiling a transposition
TRANSPOSE_MIN_LENGTH  = 16       # elements of the axes, or runs of axes, that are last before and after a transposition by a copy
TRANSPOSE_MIN_FACTOR  = 2_048    # elements of a factor that is transposed so; of a smaller one other code may do it on the way
TRANSPOSE_MIN_ROW_BYTES = 64     # of rows that a transposition leaves together
REGROUP_MIN_SIZE      = 4_096    # elements that are computed in the shape they have before a reshape
TABLE_MIN_TAKEN       = 256      # elements that are taken from a computed array beyond those that it has
TABLE_MIN_WORK        = 4        # additions that each element of it takes
# fmt: on
