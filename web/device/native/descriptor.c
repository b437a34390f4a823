/* The descriptor: gradients around a keypoint in 4×4 cells of 8 directions, turned with it
 * [Lowe 2004, section 6]. */

#include "device.h"

#define CELLS 4
#define BINS 8
#define CELL_WIDTH 3.0f /* in σ of the keypoint */
#define CLIP 0.2f
#define SCALE 512.0f    /* of the unit vector that is stored as bytes */
#define ROOM 10         /* floats per cell: 8 bins, and what runs over the last one */
#define SIDE (CELLS + 2)
#define MAX_RADIUS 128

typedef struct {
    float bins[SIDE * SIDE * ROOM];
} Histogram;

/* Two neighbouring bins at once. */
INLINE void add_pair(float *bins, f32x4 pair) {
    v128_t sum = wasm_f32x4_add(wasm_v128_load64_zero(bins), (v128_t)pair);
    wasm_v128_store64_lane(bins, sum, 0);
}

/* One sample to its two rows, two columns and two directions; each lane has sums of its own, so
 * that neighbours that fall into one bin need not wait for each other. */
INLINE void add_sample(Histogram *sums, int32_t at, float low, float high, float row, float column) {
    float *bins = sums->bins + at;
    f32x4 pair = {low, high, 0, 0};
    f32x4 second = pair * splat(row), first = pair - second;
    f32x4 second_right = second * splat(column), first_right = first * splat(column);
    add_pair(bins, first - first_right);
    add_pair(bins + ROOM, first_right);
    add_pair(bins + SIDE * ROOM, second - second_right);
    add_pair(bins + (SIDE + 1) * ROOM, second_right);
}

/* Narrow low … high to the columns j with −2.5 < j·slope + offset < 2.5, one to spare. */
static void narrow(float slope, float offset, float *low, float *high) {
    const float half = (CELLS + 1) / 2.0f;
    if (__builtin_fabsf(slope) < 1e-6f) {
        if (__builtin_fabsf(offset) > half + 0.01f) *high = *low - 1;
        return;
    }
    float one = (-half - offset) / slope, two = (half - offset) / slope;
    float first = (one < two ? one : two) - 1, last = (one < two ? two : one) + 1;
    if (first > *low) *low = first;
    if (last < *high) *high = last;
}

static void gather(const Octave *octave, const float *layer, int32_t column, int32_t row,
                   float angle, float sigma, Histogram *sums) {
    float sine, cosine, width = CELL_WIDTH * sigma;
    sine_cosine(angle, &sine, &cosine);
    sine /= width, cosine /= width;
    int32_t radius = rounded(width * 1.4142135623730951f * (CELLS + 1) * 0.5f);
    if (radius > MAX_RADIUS) radius = MAX_RADIUS;
    float weights[MAX_RADIUS + 1], across[2 * MAX_RADIUS + 8];
    bell(weights, radius + 1, 1 / (0.5 * CELLS * CELLS * width * width));
    for (int32_t k = -radius; k <= radius + 4; k++)
        across[radius + k] = k > radius ? 0 : weights[k < 0 ? -k : k];
    int32_t left = -radius > 1 - column ? -radius : 1 - column;
    int32_t right = octave->width - 2 - column < radius ? octave->width - 2 - column : radius;
    int32_t top = -radius > 1 - row ? -radius : 1 - row;
    int32_t bottom = octave->height - 2 - row < radius ? octave->height - 2 - row : radius;
    const f32x4 places = {0, 1, 2, 3}, middle = splat(CELLS / 2 - 0.5f);
    const f32x4 before = splat(-1), behind = splat(CELLS);
    int64_t stride = octave->stride;
    for (int32_t i = top; i <= bottom; i++) {
        float low = (float)left, high = (float)right;
        narrow(sine, (float)i * cosine, &low, &high);
        narrow(cosine, (float)-i * sine, &low, &high);
        const float *line = layer + (row + i) * stride + column;
        f32x4 down = splat(weights[i < 0 ? -i : i]);
        for (int32_t j = (int32_t)low; j <= (int32_t)high; j += 4) {
            f32x4 x = splat((float)j) + places;
            f32x4 rows = x * splat(sine) + splat((float)i * cosine) + middle;
            f32x4 columns = x * splat(cosine) - splat((float)i * sine) + middle;
            i32x4 inside = (rows > before) & (rows < behind) & (columns > before) &
                           (columns < behind) & (x <= splat((float)right));
            if (!any(inside)) continue;
            f32x4 dx = load(line + j + 1) - load(line + j - 1);
            f32x4 dy = load(line + j - stride) - load(line + j + stride);
            f32x4 share = root(dx * dx + dy * dy) * down * load(across + j + radius);
            f32x4 turn = (direction(dy, dx) - splat(angle)) * splat(BINS / 360.0f);
            f32x4 whole_row = floor_of(rows), whole_column = floor_of(columns);
            f32x4 whole_turn = floor_of(turn);
            rows -= whole_row, columns -= whole_column, turn -= whole_turn;
            share = choose(inside, share, splat(0));
            f32x4 over = share * turn, under = share - over;
            i32x4 at = (whole(whole_row) + 1) * SIDE + whole(whole_column) + 1;
            at = at * ROOM + (whole(whole_turn) & (BINS - 1));
            at = at & inside;
            add_sample(sums, at[0], under[0], over[0], rows[0], columns[0]);
            add_sample(sums + 1, at[1], under[1], over[1], rows[1], columns[1]);
            add_sample(sums + 2, at[2], under[2], over[2], rows[2], columns[2]);
            add_sample(sums + 3, at[3], under[3], over[3], rows[3], columns[3]);
        }
    }
}

void describe(const Octave *octave, const Keypoint *point, uint8_t *descriptor) {
    Histogram sums[4] = {{{0}}};
    float pixel = (float)(1 << point->octave) * 0.5f, angle = 360.0f - point->angle;
    if (__builtin_fabsf(angle - 360.0f) < 1.1920929e-7f) angle = 0;
    gather(octave, octave->blurred[point->layer], rounded(point->x / pixel),
           rounded(point->y / pixel), angle, point->diameter / pixel * 0.5f, sums);
    float values[CELLS * CELLS * BINS], squares = 0;
    for (int32_t cell = 0; cell < CELLS * CELLS; cell++) {
        int32_t at = ((cell / CELLS + 1) * SIDE + cell % CELLS + 1) * ROOM;
        float all[ROOM];
        for (int32_t k = 0; k < ROOM; k++)
            all[k] = sums[0].bins[at + k] + sums[1].bins[at + k] + sums[2].bins[at + k] +
                     sums[3].bins[at + k];
        all[0] += all[BINS]; /* beyond the last direction comes the first */
        for (int32_t k = 0; k < BINS; k++) values[cell * BINS + k] = all[k];
    }
    for (int32_t k = 0; k < CELLS * CELLS * BINS; k++) squares += values[k] * values[k];
    float most = __builtin_sqrtf(squares) * CLIP;
    squares = 0;
    for (int32_t k = 0; k < CELLS * CELLS * BINS; k++) {
        if (values[k] > most) values[k] = most;
        squares += values[k] * values[k];
    }
    float length = __builtin_sqrtf(squares);
    float scale = SCALE / (length > 1.1920929e-7f ? length : 1.1920929e-7f);
    for (int32_t k = 0; k < CELLS * CELLS * BINS; k++) {
        int32_t byte = rounded(values[k] * scale);
        descriptor[k] = (uint8_t)(byte > 255 ? 255 : byte);
    }
}
