/* The directions of a keypoint: peaks in a histogram of the gradients around it
 * [Lowe 2004, section 5]. A keypoint with several directions is sent several times. */

#include "device.h"

#define BINS 36
#define WIDTH 1.5f        /* of the window, in σ of the keypoint */
#define REACH (3 * WIDTH)
#define PEAK 0.8f         /* of the highest */
#define MAX_RADIUS 64

static void histogram(const Octave *octave, int32_t column, int32_t row, float sigma, float *bins) {
    int32_t radius = rounded(REACH * sigma), stride = octave->stride;
    if (radius > MAX_RADIUS) radius = MAX_RADIUS;
    float weights[MAX_RADIUS + 1], across[2 * MAX_RADIUS + 8], sums[4][BINS + 1] = {{0}};
    bell(weights, radius + 1, 1 / (2.0 * WIDTH * WIDTH * sigma * sigma));
    for (int32_t k = -radius; k <= radius + 4; k++)
        across[radius + k] = k > radius ? 0 : weights[k < 0 ? -k : k];
    int32_t left = column - radius < 1 ? 1 : column - radius;
    int32_t right = column + radius > octave->width - 2 ? octave->width - 2 : column + radius;
    int32_t top = row - radius < 1 ? 1 : row - radius;
    int32_t bottom = row + radius > octave->height - 2 ? octave->height - 2 : row + radius;
    const i32x4 places = {0, 1, 2, 3};
    for (int32_t y = top; y <= bottom; y++) {
        const float *line = octave->blurred[0] + (int64_t)y * stride;
        f32x4 down = splat(weights[y < row ? row - y : y - row]);
        for (int32_t x = left; x <= right; x += 4) {
            f32x4 dx = load(line + x + 1) - load(line + x - 1);
            f32x4 dy = load(line + x - stride) - load(line + x + stride);
            f32x4 share = root(dx * dx + dy * dy) * down * load(across + x - column + radius);
            i32x4 bin = whole(nearest_whole(direction(dy, dx) * splat(BINS / 360.0f)));
            int32_t room = right - x;
            bin = (i32x4)choose(places > (i32x4){room, room, room, room}, splat(0), (f32x4)bin);
            share = choose(places > (i32x4){room, room, room, room}, splat(0), share);
            sums[0][bin[0]] += share[0];
            sums[1][bin[1]] += share[1];
            sums[2][bin[2]] += share[2];
            sums[3][bin[3]] += share[3];
        }
    }
    float raw[BINS + 4];
    for (int32_t k = 0; k < BINS; k++) raw[k + 2] = sums[0][k] + sums[1][k] + sums[2][k] + sums[3][k];
    raw[2] += sums[0][BINS] + sums[1][BINS] + sums[2][BINS] + sums[3][BINS]; /* 360° is 0° */
    raw[0] = raw[BINS], raw[1] = raw[BINS + 1], raw[BINS + 2] = raw[2], raw[BINS + 3] = raw[3];
    for (int32_t k = 0; k < BINS; k++)
        bins[k] = (raw[k] + raw[k + 4]) * (1 / 16.0f) + (raw[k + 1] + raw[k + 3]) * (4 / 16.0f) +
                  raw[k + 2] * (6 / 16.0f);
}

int add_keypoints(const Octave *octave, Keypoint point, int32_t column, int32_t row) {
    float bins[BINS], highest = 0;
    Octave layer = *octave;
    layer.blurred[0] = octave->blurred[point.layer];
    histogram(&layer, column, row, point.diameter / (float)(1 << point.octave), bins);
    for (int32_t k = 0; k < BINS; k++) highest = bins[k] > highest ? bins[k] : highest;
    for (int32_t k = 0; k < BINS; k++) {
        float before = bins[(k + BINS - 1) % BINS], after = bins[(k + 1) % BINS];
        if (bins[k] <= before || bins[k] <= after || bins[k] < PEAK * highest) continue;
        float bin = (float)k + 0.5f * (before - after) / (before - 2 * bins[k] + after);
        bin = bin < 0 ? bin + BINS : bin >= BINS ? bin - BINS : bin;
        point.angle = 360.0f - 360.0f / BINS * bin;
        if (__builtin_fabsf(point.angle - 360.0f) < 1.1920929e-7f) point.angle = 0;
        if (!push(point)) return 0;
    }
    return 1;
}
