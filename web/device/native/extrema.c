/* Keypoints: extrema of the differences of two blurs, in place and scale, fitted between pixels
 * [Lowe 2004, sections 3.1, 4 and 4.1]. */

#include "device.h"

#define FITS 5                 /* steps of the fit */
#define CONTRAST 0.04f         /* of the range of gray values */
#define EDGE 10.0f             /* largest ratio of principal curvatures */
#define GRAY (1.0f / 255)
#define RING 3                 /* rows of each difference that are held at a time */
#define DIFFERENCES (BLURS - 1)

uint32_t detect_room(int32_t stride) {
    return (uint32_t)(stride + 8) * RING * DIFFERENCES * sizeof(float);
}

static float difference(const Octave *octave, int32_t layer, int64_t at) {
    return octave->blurred[layer + 1][at] - octave->blurred[layer][at];
}

/* Fit a quadratic around the extremum, walk to its peak, and drop weak ones and edges. */
static int refine(const Octave *octave, int32_t index, int32_t layer, int32_t row, int32_t column) {
    float dx, dy, ds, xx, yy, ss, xy, xs, ys, here, x, y, s;
    int32_t step = 0;
    for (;; step++) {
        if (step == FITS) return 1;
        int64_t at = (int64_t)row * octave->stride + column, down = octave->stride;
#define D(ds, dy, dx) difference(octave, layer + (ds), at + (dy) * down + (dx))
        here = D(0, 0, 0);
        dx = (D(0, 0, 1) - D(0, 0, -1)) * (GRAY * 0.5f);
        dy = (D(0, 1, 0) - D(0, -1, 0)) * (GRAY * 0.5f);
        ds = (D(1, 0, 0) - D(-1, 0, 0)) * (GRAY * 0.5f);
        float twice = here * 2;
        xx = (D(0, 0, 1) + D(0, 0, -1) - twice) * GRAY;
        yy = (D(0, 1, 0) + D(0, -1, 0) - twice) * GRAY;
        ss = (D(1, 0, 0) + D(-1, 0, 0) - twice) * GRAY;
        xy = (D(0, 1, 1) - D(0, 1, -1) - D(0, -1, 1) + D(0, -1, -1)) * (GRAY * 0.25f);
        xs = (D(1, 0, 1) - D(1, 0, -1) - D(-1, 0, 1) + D(-1, 0, -1)) * (GRAY * 0.25f);
        ys = (D(1, 1, 0) - D(1, -1, 0) - D(-1, 1, 0) + D(-1, -1, 0)) * (GRAY * 0.25f);
#undef D
        double a = (double)yy * ss - (double)ys * ys, b = (double)xs * ys - (double)xy * ss;
        double c = (double)xy * ys - (double)xs * yy, d = (double)xx * ss - (double)xs * xs;
        double e = (double)xs * xy - (double)xx * ys, f = (double)xx * yy - (double)xy * xy;
        double volume = xx * a + xy * b + xs * c;
        double scale = volume == 0 ? 0 : -1 / volume; /* a flat place has its peak where it is */
        x = (float)((a * dx + b * dy + c * ds) * scale);
        y = (float)((b * dx + d * dy + e * ds) * scale);
        s = (float)((c * dx + e * dy + f * ds) * scale);
        if (__builtin_fabsf(x) < 0.5f && __builtin_fabsf(y) < 0.5f && __builtin_fabsf(s) < 0.5f)
            break;
        float far = (float)(1 << 24);
        if (!(__builtin_fabsf(x) < far && __builtin_fabsf(y) < far && __builtin_fabsf(s) < far))
            return 1;
        column += rounded(x), row += rounded(y), layer += rounded(s);
        if (layer < 1 || layer > LAYERS || column < BORDER || column >= octave->width - BORDER ||
            row < BORDER || row >= octave->height - BORDER)
            return 1;
    }
    float response = here * GRAY + 0.5f * (dx * x + dy * y + ds * s);
    if (__builtin_fabsf(response) * LAYERS < CONTRAST) return 1;
    float trace = xx + yy, area = xx * yy - xy * xy;
    if (area <= 0 || trace * trace * EDGE >= (EDGE + 1) * (EDGE + 1) * area) return 1;
    float pixel = (float)(1 << index) * 0.5f;
    double growth = exponential(0.69314718055994530942 * ((float)layer + s) / LAYERS);
    Keypoint point = {
        .x = ((float)column + x) * pixel,
        .y = ((float)row + y) * pixel,
        .diameter = (float)(SIGMA * growth) * pixel * 2,
        .response = __builtin_fabsf(response),
        .octave = index,
        .layer = layer,
    };
    return add_keypoints(octave, point, column, row);
}

/* Which of four neighbours in a row are extrema among their 26. */
INLINE uint32_t extrema(float *const *below, float *const *here, float *const *above, int32_t x) {
    const f32x4 weak = splat((float)(int32_t)(0.5 * 0.04 / LAYERS * 255)), zero = splat(0);
    f32x4 value = load(here[1] + x);
    i32x4 strong = magnitude(value) > weak;
    if (!any(strong)) return 0;
    f32x4 most = larger(load(here[1] + x - 1), load(here[1] + x + 1));
    f32x4 least = smaller(load(here[1] + x - 1), load(here[1] + x + 1));
#define MEET(line)                                                                              \
    for (int32_t dx = -1; dx <= 1; dx++) {                                                      \
        f32x4 other = load((line) + x + dx);                                                    \
        most = larger(most, other), least = smaller(least, other);                              \
    }
#define PEAKS (strong & (((value > zero) & (value >= most)) | ((value < zero) & (value <= least))))
    MEET(here[0]) MEET(here[2])
    if (!any(PEAKS)) return 0;
    MEET(below[0]) MEET(below[1]) MEET(below[2])
    MEET(above[0]) MEET(above[1]) MEET(above[2])
    return lanes(PEAKS);
}

int detect_octave(const Octave *octave, int32_t index, float *rows) {
    int32_t stride = octave->stride, last = octave->width - BORDER;
    for (int32_t y = BORDER - 1; y <= octave->height - BORDER; y++) {
        float *lines[DIFFERENCES][RING]; /* rows y − 2, y − 1 and y of each difference */
        for (int32_t layer = 0; layer < DIFFERENCES; layer++) {
            for (int32_t k = 0; k < RING; k++)
                lines[layer][k] = rows + (layer * RING + (y + 1 + k) % RING) * (stride + 8);
            const float *one = octave->blurred[layer] + (int64_t)y * stride;
            const float *two = octave->blurred[layer + 1] + (int64_t)y * stride;
            for (int32_t x = 0; x < stride; x += 4)
                store(lines[layer][2] + x, load(two + x) - load(one + x));
        }
        if (y < BORDER + 1) continue;
        for (int32_t layer = 1; layer <= LAYERS; layer++)
            for (int32_t x = BORDER; x < last; x += 4)
                for (uint32_t found = extrema(lines[layer - 1], lines[layer], lines[layer + 1], x);
                     found; found &= found - 1) {
                    int32_t column = x + __builtin_ctz(found);
                    if (column < last && !refine(octave, index, layer, y - 1, column)) return 0;
                }
    }
    return 1;
}
