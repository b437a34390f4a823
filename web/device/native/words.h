/* Words and queries as rows of 16-bit numbers, ready for products. */

#ifndef WORDS_H
#define WORDS_H

#include "device.h"

#define DIMENSION 128
#define AXES 31
#define BOUND_PAIRS ((AXES + 1) / 2) /* the axes, and the length of what they leave out */
#define FULL_PAIRS (DIMENSION / 2)
#define TOGETHER 4                   /* queries compared in one pass over the words */

typedef int16_t i16x8 __attribute__((vector_size(16)));

/* Four words to a group; a vector holds two columns of each. score = q·w − minus */
typedef struct {
    uint32_t groups, pairs;
    i16x8 *columns;
    i32x4 *minus;
} Table;

int open_table(Table *table, uint32_t rows, uint32_t pairs);
void put_row(Table *table, uint32_t row, const int16_t *values, int32_t minus);
/* A query as the product wants it: each pair of columns four times. */
void spread(const int16_t *values, uint32_t pairs, i16x8 *query);
/* Scores of `groups` groups from `first` on, for TOGETHER queries or for one. */
void score_several(const Table *table, uint32_t groups, const i16x8 *queries, i32x4 *scores);
void score_one(const Table *table, uint32_t first, uint32_t groups, const i16x8 *query,
               i32x4 *scores);

/* The axes along which words differ most. */
typedef struct {
    float mean[DIMENSION];
    float axes[AXES][DIMENSION];
    float offsets[AXES]; /* the mean along each axis */
    float scale;         /* of the 16-bit numbers */
    float longest;       /* word, from the mean */
} Axes;

int find_axes(Axes *axes, const uint8_t *words, uint32_t count);
/* Coordinates in 16 bits, the last one the length of the rest rounded up; squared length from the
 * mean. 0 where the vector is too long for 16 bits. */
int turn(const Axes *axes, const uint8_t *vector, int16_t *values, double *squared);

#endif
