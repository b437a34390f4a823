/* The scale space: a picture at twice its size, blurred more and more, halved after each octave. */

#include "device.h"

#define MARGIN 16 /* columns on both sides of a row that is blurred; at least MAX_RADIUS */
#define MAX_RADIUS 14

void double_size(const uint8_t *gray, int32_t width, int32_t height, float *to, int32_t stride) {
    /* Pixel x lands on 2x exactly; between two pixels lies their mean, and the last one repeats. */
    for (int32_t y = 0; y < 2 * height; y++) {
        const uint8_t *above = gray + (int64_t)(y / 2) * width;
        const uint8_t *below = (y & 1) && y / 2 + 1 < height ? above + width : above;
        float *line = to + (int64_t)y * stride;
        for (int32_t x = 0; x < width; x++) {
            int32_t next = x + 1 < width ? x + 1 : x;
            int32_t here = above[x] + below[x], there = above[next] + below[next];
            line[2 * x] = 0.5f * (float)here;
            line[2 * x + 1] = 0.25f * (float)(here + there);
        }
        for (int32_t x = 2 * width; x < stride; x++) line[x] = 0;
    }
}

/* Mirrored at the border, the outermost pixel not repeated: … 2 1 0 1 2 … */
static int32_t mirrored(int32_t at, int32_t size) {
    while (at < 0 || at >= size) at = at < 0 ? -at : 2 * (size - 1) - at;
    return at;
}

uint32_t blur_room(int32_t stride) { return (uint32_t)(stride + 2 * MARGIN + 8) * sizeof(float); }

/* One row: down the columns into `row`, then along it. With the radius known to the compiler,
 * both loops over the kernel are unrolled. */
INLINE void blur_row(const float *const *lines, float *to, int32_t width, int32_t stride,
                     const float *kernel, int32_t radius, float *row) {
    f32x4 weights[MAX_RADIUS + 1];
    for (int32_t k = 0; k <= radius; k++) weights[k] = splat(kernel[k]);
    for (int32_t x = 0; x < stride; x += 4) {
        f32x4 sum = weights[0] * load(lines[radius] + x);
        for (int32_t k = 1; k <= radius; k++)
            sum += weights[k] * (load(lines[radius - k] + x) + load(lines[radius + k] + x));
        store(row + x, sum);
    }
    for (int32_t k = 1; k <= radius; k++) {
        row[-k] = row[mirrored(-k, width)];
        row[width - 1 + k] = row[mirrored(width - 1 + k, width)];
    }
    for (int32_t x = 0; x < stride; x += 4) {
        f32x4 sum = weights[0] * load(row + x);
        for (int32_t k = 1; k <= radius; k++)
            sum += weights[k] * (load(row + x - k) + load(row + x + k));
        store(to + x, sum);
    }
}

void blur(const float *from, float *to, const Octave *size, double sigma, float *row) {
    int32_t width = size->width, height = size->height, stride = size->stride;
    int32_t radius = ((int32_t)__builtin_rint(8 * sigma + 1) | 1) / 2; /* four σ to either side */
    if (radius > MAX_RADIUS) radius = MAX_RADIUS;
    float kernel[MAX_RADIUS + 1];
    double values[MAX_RADIUS + 1], total = 0;
    for (int32_t k = 0; k <= radius; k++) {
        values[k] = exponential(-k * k / (2 * sigma * sigma));
        total += k == 0 ? values[k] : 2 * values[k];
    }
    for (int32_t k = 0; k <= radius; k++) kernel[k] = (float)(values[k] / total);
    row += MARGIN;
    for (int32_t y = 0; y < height; y++) {
        const float *lines[2 * MAX_RADIUS + 1];
        for (int32_t k = -radius; k <= radius; k++)
            lines[radius + k] = from + (int64_t)mirrored(y + k, height) * stride;
        float *line = to + (int64_t)y * stride;
        switch (radius) {
        case 5: blur_row(lines, line, width, stride, kernel, 5, row); break;
        case 6: blur_row(lines, line, width, stride, kernel, 6, row); break;
        case 8: blur_row(lines, line, width, stride, kernel, 8, row); break;
        case 10: blur_row(lines, line, width, stride, kernel, 10, row); break;
        case 13: blur_row(lines, line, width, stride, kernel, 13, row); break;
        default: blur_row(lines, line, width, stride, kernel, radius, row);
        }
    }
}

/* blurred[0] is there; each next one has 2^(1/LAYERS) times the σ of the one before. */
void fill_octave(Octave *octave, float *row) {
    double step = exponential(0.69314718055994530942 / LAYERS), before = SIGMA;
    for (int32_t layer = 1; layer < BLURS; layer++) {
        double more = __builtin_sqrt(before * step * before * step - before * before);
        blur(octave->blurred[layer - 1], octave->blurred[layer], octave, more, row);
        before *= step;
    }
}

/* Every second pixel of the layer whose σ is twice that of the first. */
void halve(const Octave *finer, Octave *coarser) {
    for (int32_t y = 0; y < coarser->height; y++) {
        const float *from = finer->blurred[LAYERS] + (int64_t)(2 * y) * finer->stride;
        float *to = coarser->blurred[0] + (int64_t)y * coarser->stride;
        for (int32_t x = 0; x < coarser->width; x++) to[x] = from[2 * x];
        for (int32_t x = coarser->width; x < coarser->stride; x++) to[x] = 0;
    }
}
