/* A picture in, keypoints and descriptors out: what the module offers to the page.
 *
 * Memory: the first octave has 6 blurs of 4 pixels of 4 bytes for each pixel of the picture, 96
 * bytes in all. Only 3 of the 6 are needed once its keypoints are found: the coarser octaves lie
 * where the other 3 were, and so on. So every octave is still there when keypoints are described,
 * and a caller can choose among them first.
 */

#include "device.h"

#define MAX_SIDE 65536
#define CHUNK 1024 /* keypoints; nothing else takes memory while they are found */

static Octave octaves[MAX_OCTAVES];
static int32_t picture_width, picture_height;
static uint8_t *pixels;
static float *room;
static Keypoint *points;
static uint32_t num_points, *order, num_kept;
static int32_t num_octaves;
static uint8_t *descriptors;

/* The memory of one octave: layers that are described first, those that are only compared last. */
static float *place_octave(Octave *octave, float *at) {
    static const int32_t layers[BLURS] = {1, 2, 3, 0, 4, 5};
    uint64_t size = (uint64_t)octave->stride * (uint64_t)octave->height;
    for (int32_t k = 0; k < BLURS; k++) octave->blurred[layers[k]] = at + (uint64_t)k * size;
    return at + LAYERS * size; /* free for the next octave once this one's keypoints are found */
}

/* Make room for a picture; the address where its RGBA or gray pixels go, or 0. */
EXPORT(sift_open) uint8_t *sift_open(int32_t width, int32_t height) {
    release(0);
    num_points = num_kept = 0, num_octaves = 0, pixels = 0;
    if (width < 1 || height < 1 || width > MAX_SIDE || height > MAX_SIDE) return 0;
    picture_width = width, picture_height = height;
    octaves[0] = (Octave){2 * width, 2 * height, (2 * width + 3) & ~3, {0}};
    uint64_t layer = (uint64_t)octaves[0].stride * (uint64_t)octaves[0].height * sizeof(float);
    float *all = take(BLURS * layer + 64);
    uint32_t one = blur_room(octaves[0].stride), other = detect_room(octaves[0].stride);
    room = take(one > other ? one : other);
    if (!all || !room) return 0;
    place_octave(&octaves[0], all + 4);
    pixels = (uint8_t *)octaves[0].blurred[BLURS - 1]; /* made last: free until then */
    return pixels;
}

/* RGBA, laid on white, to luma in whole numbers: .299 R + .587 G + .114 B, in 1/32768. */
static void make_gray(uint8_t *gray, const uint8_t *rgba, uint64_t count) {
    for (uint64_t k = 0; k < count; k++, rgba += 4) {
        uint32_t red = rgba[0], green = rgba[1], blue = rgba[2], alpha = rgba[3];
        if (alpha != 255) {
            uint32_t paper = (255 - alpha) * 255 + 127;
            red = (red * alpha + paper) / 255;
            green = (green * alpha + paper) / 255;
            blue = (blue * alpha + paper) / 255;
        }
        gray[k] = (uint8_t)((red * 9798 + green * 19235 + blue * 3735 + 16384) >> 15);
    }
}

int push(Keypoint point) {
    if (num_points % CHUNK == 0 && !take(CHUNK * sizeof(Keypoint))) return 0;
    points[num_points++] = point;
    return 1;
}

/* Strongest first; ties by y, x, angle and diameter: the order of the Python device. */
static int comes_first(const Keypoint *a, const Keypoint *b) {
    if (a->response != b->response) return a->response > b->response;
    if (a->y != b->y) return a->y < b->y;
    if (a->x != b->x) return a->x < b->x;
    if (a->angle != b->angle) return a->angle < b->angle;
    return a->diameter < b->diameter;
}

static int sort_points(void) {
    order = take((uint64_t)num_points * 2 * sizeof(uint32_t));
    if (!order) return 0;
    uint32_t *from = order, *to = order + num_points;
    for (uint32_t k = 0; k < num_points; k++) from[k] = k;
    for (uint64_t width = 1; width < num_points; width *= 2) {
        for (uint64_t low = 0; low < num_points; low += 2 * width) {
            uint64_t middle = low + width < num_points ? low + width : num_points;
            uint64_t high = low + 2 * width < num_points ? low + 2 * width : num_points;
            for (uint64_t a = low, b = middle, k = low; k < high; k++) {
                int left = b >= high || (a < middle && !comes_first(&points[from[b]], &points[from[a]]));
                to[k] = left ? from[a++] : from[b++];
            }
        }
        uint32_t *other = from;
        from = to, to = other;
    }
    order = from;
    /* Two pixels may lead to one peak: only the first of equal keypoints stays. */
    for (uint32_t k = 0; k < num_points; k++)
        if (num_kept == 0 || comes_first(&points[order[num_kept - 1]], &points[order[k]]))
            order[num_kept++] = order[k];
    return 1;
}

/* Find the keypoints of the picture at the address of `sift_open`: their number, or −1 where the
 * memory is refused. */
EXPORT(sift_detect) int32_t sift_detect(int32_t is_gray) {
    if (!pixels) return -1;
    uint64_t count = (uint64_t)picture_width * (uint64_t)picture_height;
    uint8_t *gray = is_gray ? pixels : pixels + 4 * count;
    if (!is_gray) make_gray(gray, pixels, count);
    pixels = 0;
    Octave *octave = octaves;
    points = (Keypoint *)(uintptr_t)mark();
    double more = __builtin_sqrt(SIGMA * SIGMA - 4 * PICTURE_SIGMA * PICTURE_SIGMA);
    double_size(gray, picture_width, picture_height, octave->blurred[1], octave->stride);
    blur(octave->blurred[1], octave->blurred[0], octave, more, room);
    for (int32_t index = 0;; index++) {
        octave = &octaves[index];
        if (octave->width < SMALLEST_SIDE || octave->height < SMALLEST_SIDE) break;
        fill_octave(octave, room);
        if (!detect_octave(octave, index, room)) return -1;
        num_octaves = index + 1;
        if (index + 1 == MAX_OCTAVES) break;
        Octave *next = octave + 1;
        *next = (Octave){octave->width / 2, octave->height / 2, (octave->width / 2 + 3) & ~3, {0}};
        place_octave(next, octave->blurred[0]);
        halve(octave, next);
    }
    return sort_points() ? (int32_t)num_kept : -1;
}

/* x, y, diameter, angle and response of the keypoints, one after the other; 0 without memory. */
EXPORT(sift_keypoints) float *sift_keypoints(void) {
    float *values = take((uint64_t)num_kept * 5 * sizeof(float));
    for (uint32_t k = 0; values && k < num_kept; k++) {
        const Keypoint *point = &points[order[k]];
        float *to = values + 5 * (uint64_t)k;
        to[0] = point->x, to[1] = point->y, to[2] = point->diameter;
        to[3] = point->angle, to[4] = point->response;
    }
    return values;
}

/* Where the rows to describe are written before `sift_describe`; 0 where the memory is refused. */
EXPORT(sift_rows) uint32_t *sift_rows(uint32_t count) {
    if (count > num_kept) return 0;
    descriptors = take((uint64_t)count * 128);
    return descriptors ? take((uint64_t)count * sizeof(uint32_t)) : 0;
}

/* Describe the keypoints of these rows: 128 bytes each, or 0 if a row is not there. */
EXPORT(sift_describe) uint8_t *sift_describe(const uint32_t *rows, uint32_t count) {
    for (uint32_t k = 0; k < count; k++) {
        if (rows[k] >= num_kept) return 0;
        const Keypoint *point = &points[order[rows[k]]];
        describe(&octaves[point->octave], point, descriptors + 128 * (uint64_t)k);
    }
    return descriptors;
}

/* Where frames are written before `sift_describe_frames`, 6 numbers each: x, y, diameter, angle,
 * octave and layer; 0 where the memory is refused. */
EXPORT(sift_frames) float *sift_frames(uint32_t count) {
    descriptors = take((uint64_t)count * 128);
    return descriptors ? take((uint64_t)count * 6 * sizeof(float)) : 0;
}

/* Describe the picture at these frames: 128 bytes each, zeros where a frame lies outside of the
 * picture or of its scale space. Comparisons are written so that NaN fails them. */
EXPORT(sift_describe_frames) uint8_t *sift_describe_frames(const float *frames, uint32_t count) {
    float right = (float)(picture_width - 1), bottom = (float)(picture_height - 1);
    for (uint32_t k = 0; k < count; k++, frames += 6) {
        uint8_t *to = descriptors + 128 * (uint64_t)k;
        int inside = frames[0] >= 0 && frames[0] <= right && frames[1] >= 0 && frames[1] <= bottom;
        int sized = frames[2] > 0 && frames[2] < MAX_SIDE && frames[3] >= 0 && frames[3] <= 360;
        int there = frames[4] >= 0 && frames[4] < (float)num_octaves;
        int layered = frames[5] >= 1 && frames[5] <= LAYERS;
        if (!(inside && sized && there && layered)) {
            for (int32_t i = 0; i < 128; i++) to[i] = 0;
            continue;
        }
        Keypoint point = {frames[0], frames[1], frames[2], frames[3], 0,
                          (int32_t)frames[4], (int32_t)frames[5]};
        describe(&octaves[point.octave], &point, to);
    }
    return descriptors;
}
