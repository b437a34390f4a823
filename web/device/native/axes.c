/* The axes along which words differ most: leading eigenvectors of their covariance. A bound made
 * with them holds for any orthonormal axes; good ones only make it tighter. */

#include "words.h"

#define SAMPLE 4096
#define ROUNDS 12
#define LARGEST 32000.0 /* 16-bit numbers, with room for rounding */

static void covariance(double *matrix, const float *mean, const uint8_t *words, uint32_t count) {
    uint32_t step = count > SAMPLE ? count / SAMPLE : 1;
    for (uint32_t k = 0; k < DIMENSION * DIMENSION; k++) matrix[k] = 0;
    for (uint32_t word = 0; word < count; word += step) {
        const uint8_t *bytes = words + (uint64_t)word * DIMENSION;
        double values[DIMENSION];
        for (uint32_t k = 0; k < DIMENSION; k++) values[k] = (double)bytes[k] - (double)mean[k];
        for (uint32_t k = 0; k < DIMENSION; k++)
            for (uint32_t j = 0; j <= k; j++) matrix[k * DIMENSION + j] += values[k] * values[j];
    }
    for (uint32_t k = 0; k < DIMENSION; k++)
        for (uint32_t j = 0; j < k; j++) matrix[j * DIMENSION + k] = matrix[k * DIMENSION + j];
}

/* Make the rows orthonormal, one after the other; twice, because once leaves rounding behind. */
static void orthonormalize(double (*rows)[DIMENSION]) {
    for (uint32_t row = 0; row < AXES; row++) {
        for (uint32_t pass = 0; pass < 2; pass++)
            for (uint32_t other = 0; other < row; other++) {
                double product = 0;
                for (uint32_t k = 0; k < DIMENSION; k++) product += rows[row][k] * rows[other][k];
                for (uint32_t k = 0; k < DIMENSION; k++) rows[row][k] -= product * rows[other][k];
            }
        double length = 0;
        for (uint32_t k = 0; k < DIMENSION; k++) length += rows[row][k] * rows[row][k];
        length = __builtin_sqrt(length);
        /* Fewer different words than axes: what is left is rounding, and any axis will do. */
        for (uint32_t k = 0; k < DIMENSION; k++)
            rows[row][k] = length > 1e-9 ? rows[row][k] / length : 0;
    }
}

int find_axes(Axes *axes, const uint8_t *words, uint32_t count) {
    uint32_t before = mark();
    double *matrix = take(DIMENSION * DIMENSION * sizeof(double));
    double(*rows)[DIMENSION] = take(AXES * DIMENSION * sizeof(double));
    double(*next)[DIMENSION] = take(AXES * DIMENSION * sizeof(double));
    if (!matrix || !rows || !next) return 0;
    uint64_t sums[DIMENSION] = {0};
    for (uint32_t word = 0; word < count; word++)
        for (uint32_t k = 0; k < DIMENSION; k++) sums[k] += words[(uint64_t)word * DIMENSION + k];
    for (uint32_t k = 0; k < DIMENSION; k++) axes->mean[k] = (float)((double)sums[k] / count);
    covariance(matrix, axes->mean, words, count);
    for (uint32_t row = 0; row < AXES; row++)
        for (uint32_t k = 0; k < DIMENSION; k++)
            rows[row][k] = k % AXES == row ? 1 : 0.01 * ((k * 37 + row * 11) % 19);
    orthonormalize(rows);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t row = 0; row < AXES; row++)
            for (uint32_t k = 0; k < DIMENSION; k++) {
                double sum = 0;
                for (uint32_t j = 0; j < DIMENSION; j++)
                    sum += matrix[k * DIMENSION + j] * rows[row][j];
                next[row][k] = sum;
            }
        double(*other)[DIMENSION] = rows;
        rows = next, next = other;
        orthonormalize(rows);
    }
    double longest = 1;
    for (uint32_t word = 0; word < count; word++) {
        double squared = 0;
        for (uint32_t k = 0; k < DIMENSION; k++) {
            double value = (double)words[(uint64_t)word * DIMENSION + k] - (double)axes->mean[k];
            squared += value * value;
        }
        longest = squared > longest ? squared : longest;
    }
    axes->longest = (float)__builtin_sqrt(longest) * 1.0001f;
    axes->scale = 64;
    while (axes->scale * axes->longest > LARGEST) axes->scale /= 2;
    for (uint32_t row = 0; row < AXES; row++) {
        double offset = 0;
        for (uint32_t k = 0; k < DIMENSION; k++) {
            axes->axes[row][k] = (float)rows[row][k];
            offset += rows[row][k] * (double)axes->mean[k];
        }
        axes->offsets[row] = (float)offset;
    }
    release(before);
    return 1;
}

int turn(const Axes *axes, const uint8_t *vector, int16_t *values, double *squared) {
    float floats[DIMENSION];
    double total = 0, along = 0;
    for (uint32_t k = 0; k < DIMENSION; k++) {
        floats[k] = (float)vector[k];
        double value = (double)vector[k] - (double)axes->mean[k];
        total += value * value;
    }
    *squared = total;
    if (__builtin_sqrt(total) * (double)axes->scale > LARGEST) return 0;
    for (uint32_t row = 0; row < AXES; row++) {
        f32x4 sums = splat(0);
        for (uint32_t k = 0; k < DIMENSION; k += 4) sums += load(axes->axes[row] + k) * load(floats + k);
        float value = (sums[0] + sums[1]) + (sums[2] + sums[3]) - axes->offsets[row];
        along += (double)value * (double)value;
        values[row] = (int16_t)__builtin_rintf(value * axes->scale);
    }
    /* A little more than the rest, so that rounding never makes it too short. */
    double rest = total > along ? total - along : 0;
    values[AXES] = (int16_t)(__builtin_sqrt(rest + 1) * (double)axes->scale + 1);
    return 1;
}
