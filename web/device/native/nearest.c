/* The nearest word of each descriptor, exactly as the Python device finds it, ties included.
 *
 * Largest 2·q·w − ‖w‖² is nearest; of equal ones the first. In the axes along which words differ
 * most, 31 coordinates and the length of the rest bound the product: q·w ≤ a·b + ‖rest‖·‖rest‖.
 * Only words whose bound reaches the best score so far are compared in full.
 *
 * From 32,768 words on a dictionary has cells around the words of a coarser level: a query looks
 * into the 64 cells whose middles are nearest, as the Python device does.
 */

#include "words.h"

#define CELLS_SEARCHED 64
#define MAX_WORDS (1u << 20)
#define ROUNDING 3.0 /* length of the rounding of 31 coordinates: √31/2, and that of the products */

typedef struct {
    uint32_t first, groups;
} Range;

static uint32_t num_words, num_centres, free_after;
static uint8_t *words;      /* in the order of the table */
static uint32_t *names;     /* the word of each row of the table */
static uint32_t *norms;     /* squared lengths, by row of the table */
static Table table, centres;
static Range *cells;
static Axes axes;
static i32x4 *scores;
static uint8_t *queries;

static uint32_t squared_length(const uint8_t *vector) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < DIMENSION; k++) sum += (uint32_t)vector[k] * vector[k];
    return sum;
}

/* 2·q·w − ‖w‖² */
static int32_t full_score(const uint8_t *query, uint32_t row) {
    const uint8_t *word = words + (uint64_t)row * DIMENSION;
    v128_t sums = wasm_i32x4_splat(0);
    for (uint32_t k = 0; k < DIMENSION; k += 16) {
        v128_t a = wasm_v128_load(query + k), b = wasm_v128_load(word + k);
        sums = wasm_i32x4_add(sums, wasm_i32x4_dot_i16x8(wasm_u16x8_extend_low_u8x16(a),
                                                         wasm_u16x8_extend_low_u8x16(b)));
        sums = wasm_i32x4_add(sums, wasm_i32x4_dot_i16x8(wasm_u16x8_extend_high_u8x16(a),
                                                         wasm_u16x8_extend_high_u8x16(b)));
    }
    i32x4 parts = (i32x4)sums;
    return 2 * (parts[0] + parts[1] + parts[2] + parts[3]) - (int32_t)norms[row];
}

/* Largest score, and of equal ones the first word. */
typedef struct {
    int32_t score;
    uint32_t name;
} Best;

static void meet(Best *best, const uint8_t *query, uint32_t row) {
    int32_t score = full_score(query, row);
    if (score > best->score || (score == best->score && names[row] < best->name))
        *best = (Best){score, names[row]};
}

static uint32_t compare_all(const uint8_t *query, const Range *ranges, uint32_t count) {
    Best best = {INT32_MIN, UINT32_MAX};
    for (uint32_t range = 0; range < count; range++)
        for (uint32_t k = 0; k < 4 * ranges[range].groups; k++)
            if (names[4 * ranges[range].first + k] != UINT32_MAX)
                meet(&best, query, 4 * ranges[range].first + k);
    return best.name;
}

/* The nearest word where `bounds` has the bounds of all rows of the ranges, one after the other. */
static uint32_t choose_word(const uint8_t *query, double squared, const Range *ranges,
                            uint32_t count, const i32x4 *bounds) {
    i32x4 most = {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN};
    uint32_t total = 0;
    for (uint32_t range = 0; range < count; range++) total += ranges[range].groups;
    for (uint32_t k = 0; k < total; k++)
        most = (i32x4)wasm_i32x4_max((v128_t)most, (v128_t)bounds[k]);
    int32_t highest = most[0];
    for (uint32_t k = 1; k < 4; k++) highest = most[k] > highest ? most[k] : highest;
    /* Bounds are of vectors from the mean, times the square of the scale. */
    double unit = (double)axes.scale * (double)axes.scale / 2;
    double shift = squared - (double)squared_length(query);
    double length = (double)axes.scale * (__builtin_sqrt(squared) + (double)axes.longest);
    double slack = ROUNDING * length + ROUNDING * ROUNDING + 8;
    Best best = {INT32_MIN, UINT32_MAX};
    int32_t reach = highest; /* first the words with the highest bound, to begin with a good one */
    for (uint32_t pass = 0; pass < 2; pass++) {
        uint32_t at = 0;
        for (uint32_t range = 0; range < count; range++)
            for (uint32_t group = 0; group < ranges[range].groups; group++, at++) {
                i32x4 limit = {reach, reach, reach, reach};
                for (uint32_t hits = lanes(bounds[at] >= limit); hits; hits &= hits - 1) {
                    int32_t before = best.score;
                    meet(&best, query, 4 * (ranges[range].first + group) + (uint32_t)__builtin_ctz(hits));
                    if (pass == 0 || best.score == before) continue;
                    reach = (int32_t)(unit * (shift + best.score) - slack);
                }
            }
        reach = (int32_t)(unit * (shift + best.score) - slack);
    }
    return best.name;
}

/* Rows of `count` cells whose middles are nearest; a heap holds the best, the worst of them first. */
static uint32_t nearest_cells(const uint8_t *query, Range *ranges) {
    int16_t values[DIMENSION];
    i16x8 spread_query[FULL_PAIRS];
    for (uint32_t k = 0; k < DIMENSION; k++) values[k] = (int16_t)(2 * query[k]);
    spread(values, FULL_PAIRS, spread_query);
    score_one(&centres, 0, centres.groups, spread_query, scores);
    const int32_t *all = (const int32_t *)scores;
    uint32_t heap[CELLS_SEARCHED], size = 0;
    for (uint32_t cell = 0; cell < num_centres; cell++) {
        if (!cells[cell].groups) continue;
        uint32_t at;
        if (size < CELLS_SEARCHED) {
            for (at = size++; at && all[cell] < all[heap[(at - 1) / 2]]; at = (at - 1) / 2)
                heap[at] = heap[(at - 1) / 2];
        } else {
            if (all[cell] <= all[heap[0]]) continue;
            for (at = 0;;) {
                uint32_t child = 2 * at + 1;
                if (child >= size) break;
                if (child + 1 < size && all[heap[child + 1]] < all[heap[child]]) child++;
                if (all[heap[child]] >= all[cell]) break;
                heap[at] = heap[child];
                at = child;
            }
        }
        heap[at] = cell;
    }
    for (uint32_t k = 0; k < size; k++) ranges[k] = cells[heap[k]];
    return size;
}

static void search_cells(const uint8_t *query, uint32_t *found) {
    Range ranges[CELLS_SEARCHED];
    uint32_t count = nearest_cells(query, ranges), at = 0;
    int16_t values[2 * BOUND_PAIRS];
    i16x8 spread_query[BOUND_PAIRS];
    double squared;
    if (!turn(&axes, query, values, &squared)) {
        *found = compare_all(query, ranges, count);
        return;
    }
    spread(values, BOUND_PAIRS, spread_query);
    for (uint32_t k = 0; k < count; at += ranges[k++].groups)
        score_one(&table, ranges[k].first, ranges[k].groups, spread_query, scores + at);
    *found = choose_word(query, squared, ranges, count, scores);
}

static void search_all(const uint8_t *block, uint32_t count, uint32_t *found) {
    Range all = {0, table.groups};
    i16x8 spread_queries[TOGETHER * BOUND_PAIRS];
    double squared[TOGETHER];
    int fits[TOGETHER] = {0};
    for (uint32_t q = 0; q < TOGETHER; q++) {
        int16_t values[2 * BOUND_PAIRS] = {0};
        if (q < count) fits[q] = turn(&axes, block + (uint64_t)q * DIMENSION, values, &squared[q]);
        if (!fits[q])
            for (uint32_t k = 0; k < 2 * BOUND_PAIRS; k++) values[k] = 0;
        spread(values, BOUND_PAIRS, spread_queries + q * BOUND_PAIRS);
    }
    score_several(&table, table.groups, spread_queries, scores);
    for (uint32_t q = 0; q < count; q++) {
        const uint8_t *query = block + (uint64_t)q * DIMENSION;
        const i32x4 *own = scores + (uint64_t)q * table.groups;
        found[q] = fits[q] ? choose_word(query, squared[q], &all, 1, own) : compare_all(query, &all, 1);
    }
}

/* Fill the table of bounds: row of the table → word, and the words' own bytes in that order. */
static int fill(const uint8_t *given, uint32_t rows) {
    if (!open_table(&table, rows, BOUND_PAIRS)) return 0;
    for (uint32_t row = 0; row < rows; row++) {
        if (names[row] == UINT32_MAX) continue;
        const uint8_t *word = given + (uint64_t)names[row] * DIMENSION;
        int16_t values[2 * BOUND_PAIRS];
        double squared;
        turn(&axes, word, values, &squared);
        double minus = squared * (double)axes.scale * (double)axes.scale / 2;
        put_row(&table, row, values, (int32_t)minus);
        norms[row] = squared_length(word);
        for (uint32_t k = 0; k < DIMENSION; k++) words[(uint64_t)row * DIMENSION + k] = word[k];
    }
    return 1;
}

/* Room for words, and for the middles of their cells behind them; the address, or 0. */
EXPORT(words_open) uint8_t *words_open(uint32_t count, uint32_t middles) {
    release(0);
    num_words = num_centres = 0;
    if (count < 1 || count > MAX_WORDS || middles > count) return 0;
    num_words = count, num_centres = middles;
    uint8_t *given = take((uint64_t)(count + middles) * DIMENSION);
    if (!given) num_words = 0;
    return given;
}

/* Take the rows in the order of the words: `given` are compared with all of them. */
static int index_all(uint8_t *given, uint32_t count) {
    uint32_t rows = (count + 3) & ~3u;
    names = take((uint64_t)rows * sizeof(uint32_t));
    norms = take((uint64_t)rows * sizeof(uint32_t));
    words = take((uint64_t)rows * DIMENSION);
    if (!names || !norms || !words || !find_axes(&axes, given, count)) return 0;
    for (uint32_t row = 0; row < rows; row++) names[row] = row < count ? row : UINT32_MAX;
    if (!fill(given, rows)) return 0;
    scores = take((uint64_t)table.groups * TOGETHER * sizeof(i32x4));
    return scores != 0;
}

/* The nearest of the middles for every word, by the search over all of them. */
static int index_cells(uint8_t *given) {
    const uint8_t *middles = given + (uint64_t)num_words * DIMENSION;
    uint32_t *cell = take((uint64_t)num_words * sizeof(uint32_t));
    cells = take((uint64_t)num_centres * sizeof(Range));
    if (!cell || !cells || !open_table(&centres, num_centres, FULL_PAIRS)) return 0;
    for (uint32_t k = 0; k < num_centres; k++) {
        int16_t values[DIMENSION];
        const uint8_t *bytes = middles + (uint64_t)k * DIMENSION;
        for (uint32_t j = 0; j < DIMENSION; j++) values[j] = bytes[j];
        put_row(&centres, k, values, (int32_t)squared_length(bytes));
        cells[k] = (Range){0, 0};
    }
    uint32_t before = mark();
    if (!index_all((uint8_t *)middles, num_centres)) return 0;
    for (uint32_t k = 0; k < num_words; k += TOGETHER) {
        uint32_t count = num_words - k < TOGETHER ? num_words - k : TOGETHER;
        search_all(given + (uint64_t)k * DIMENSION, count, cell + k);
    }
    release(before);
    for (uint32_t k = 0; k < num_words; k++) cells[cell[k]].groups++; /* words, for now */
    uint32_t groups = 0;
    for (uint32_t k = 0; k < num_centres; k++) {
        cells[k].first = groups;
        groups += cells[k].groups = (cells[k].groups + 3) / 4;
    }
    uint32_t rows = 4 * groups, *filled = take((uint64_t)num_centres * sizeof(uint32_t));
    names = take((uint64_t)rows * sizeof(uint32_t));
    norms = take((uint64_t)rows * sizeof(uint32_t));
    words = take((uint64_t)rows * DIMENSION);
    if (!filled || !names || !norms || !words || !find_axes(&axes, given, num_words)) return 0;
    for (uint32_t row = 0; row < rows; row++) names[row] = UINT32_MAX;
    for (uint32_t k = 0; k < num_centres; k++) filled[k] = 4 * cells[k].first;
    for (uint32_t k = 0; k < num_words; k++) names[filled[cell[k]]++] = k;
    if (!fill(given, rows)) return 0;
    uint32_t most = groups > centres.groups ? groups : centres.groups;
    scores = take((uint64_t)most * sizeof(i32x4));
    return scores != 0;
}

/* Make the index of the words at the address of `words_open`: 1, or 0 where memory is refused. */
EXPORT(words_index) int32_t words_index(uint8_t *given) {
    free_after = 0;
    if (!num_words) return 0;
    int done = num_centres ? index_cells(given) : index_all(given, num_words);
    if (done) free_after = mark();
    return done;
}

/* Where `count` descriptors go, 128 bytes each; 0 without an index or without memory. */
EXPORT(words_queries) uint8_t *words_queries(uint32_t count) {
    if (!free_after) return 0;
    release(free_after);
    queries = take((uint64_t)count * DIMENSION);
    return queries;
}

/* The nearest words of the descriptors at the address of `words_queries`; 0 without memory. */
EXPORT(words_nearest) uint32_t *words_nearest(uint32_t count) {
    uint32_t *found = take((uint64_t)count * sizeof(uint32_t));
    if (!found || !queries) return 0;
    if (num_centres)
        for (uint32_t k = 0; k < count; k++) search_cells(queries + (uint64_t)k * DIMENSION, found + k);
    else
        for (uint32_t k = 0; k < count; k += TOGETHER)
            search_all(queries + (uint64_t)k * DIMENSION, count - k < TOGETHER ? count - k : TOGETHER,
                       found + k);
    return found;
}
