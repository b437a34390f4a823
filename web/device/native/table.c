/* Products of queries with many words, four words to a vector. */

#include "words.h"

int open_table(Table *table, uint32_t rows, uint32_t pairs) {
    table->groups = (rows + 3) / 4, table->pairs = pairs;
    table->columns = take((uint64_t)table->groups * pairs * sizeof(i16x8));
    table->minus = take((uint64_t)table->groups * sizeof(i32x4));
    if (!table->columns || !table->minus) return 0;
    /* Rows that are never put have the lowest of all scores. */
    for (uint64_t k = 0; k < (uint64_t)table->groups * pairs; k++) table->columns[k] = (i16x8){0};
    for (uint32_t k = 0; k < table->groups; k++)
        table->minus[k] = (i32x4){INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
    return 1;
}

void put_row(Table *table, uint32_t row, const int16_t *values, int32_t minus) {
    int16_t *columns = (int16_t *)(table->columns + (uint64_t)(row / 4) * table->pairs);
    for (uint32_t pair = 0; pair < table->pairs; pair++) {
        columns[pair * 8 + row % 4 * 2] = values[2 * pair];
        columns[pair * 8 + row % 4 * 2 + 1] = values[2 * pair + 1];
    }
    ((int32_t *)table->minus)[row] = minus;
}

void spread(const int16_t *values, uint32_t pairs, i16x8 *query) {
    for (uint32_t pair = 0; pair < pairs; pair++) {
        int16_t a = values[2 * pair], b = values[2 * pair + 1];
        query[pair] = (i16x8){a, b, a, b, a, b, a, b};
    }
}

INLINE i32x4 product(i16x8 a, i16x8 b) { return (i32x4)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b); }

INLINE void score(const Table *table, uint32_t first, uint32_t groups, uint32_t pairs,
                  const i16x8 *queries, i32x4 *scores, uint32_t several) {
    for (uint32_t group = 0; group < groups; group++) {
        const i16x8 *columns = table->columns + (uint64_t)(first + group) * pairs;
        i32x4 sums[TOGETHER];
        for (uint32_t q = 0; q < several; q++) sums[q] = -table->minus[first + group];
        for (uint32_t pair = 0; pair < pairs; pair++)
            for (uint32_t q = 0; q < several; q++)
                sums[q] += product(columns[pair], queries[q * pairs + pair]);
        for (uint32_t q = 0; q < several; q++) scores[(uint64_t)q * groups + group] = sums[q];
    }
}

void score_several(const Table *table, uint32_t groups, const i16x8 *queries, i32x4 *scores) {
    if (table->pairs == BOUND_PAIRS)
        score(table, 0, groups, BOUND_PAIRS, queries, scores, TOGETHER);
    else
        score(table, 0, groups, FULL_PAIRS, queries, scores, TOGETHER);
}

void score_one(const Table *table, uint32_t first, uint32_t groups, const i16x8 *query,
               i32x4 *scores) {
    if (table->pairs == BOUND_PAIRS)
        score(table, first, groups, BOUND_PAIRS, query, scores, 1);
    else
        score(table, first, groups, FULL_PAIRS, query, scores, 1);
}
