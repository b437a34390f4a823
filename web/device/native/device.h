/* What the files of this folder share: vectors, memory, the scale space, keypoints. */

#ifndef DEVICE_H
#define DEVICE_H

#include <stdint.h>
#include <wasm_simd128.h>

#define EXPORT(name) __attribute__((export_name(#name)))
#define INLINE static inline __attribute__((always_inline))

typedef float f32x4 __attribute__((vector_size(16)));
typedef int32_t i32x4 __attribute__((vector_size(16)));

INLINE f32x4 splat(float value) { return (f32x4){value, value, value, value}; }
/* Loads and stores at any address, not only at multiples of 16. */
INLINE f32x4 load(const float *from) { return (f32x4)wasm_v128_load(from); }
INLINE void store(float *to, f32x4 value) { wasm_v128_store(to, (v128_t)value); }
INLINE f32x4 larger(f32x4 a, f32x4 b) { return (f32x4)wasm_f32x4_pmax((v128_t)a, (v128_t)b); }
INLINE f32x4 smaller(f32x4 a, f32x4 b) { return (f32x4)wasm_f32x4_pmin((v128_t)a, (v128_t)b); }
INLINE f32x4 magnitude(f32x4 a) { return (f32x4)wasm_f32x4_abs((v128_t)a); }
INLINE f32x4 root(f32x4 a) { return (f32x4)wasm_f32x4_sqrt((v128_t)a); }
INLINE f32x4 nearest_whole(f32x4 a) { return (f32x4)wasm_f32x4_nearest((v128_t)a); }
INLINE f32x4 floor_of(f32x4 a) { return (f32x4)wasm_f32x4_floor((v128_t)a); }
INLINE i32x4 whole(f32x4 a) { return (i32x4)wasm_i32x4_trunc_sat_f32x4((v128_t)a); }
INLINE f32x4 choose(i32x4 mask, f32x4 yes, f32x4 no) {
    return (f32x4)wasm_v128_bitselect((v128_t)yes, (v128_t)no, (v128_t)mask);
}
INLINE int any(i32x4 mask) { return wasm_v128_any_true((v128_t)mask); }
INLINE uint32_t lanes(i32x4 mask) { return wasm_i32x4_bitmask((v128_t)mask); }
/* To the nearest whole number, halves to the even one. */
INLINE int32_t rounded(float value) { return (int32_t)__builtin_rintf(value); }

/* Memory: one stack that only grows; `release` gives back all that was taken after a mark. */
void *take(uint64_t bytes); /* a multiple of 16, or 0 where the memory is refused */
uint32_t mark(void);
void release(uint32_t to);

double exponential(double x);
void sine_cosine(double degrees, float *sine, float *cosine);
/* weights[k] = exp(−k² · factor) for k = 0 … count − 1 */
void bell(float *weights, int32_t count, double factor);
/* Angle of (x, y) in degrees, 0 to 360, within .001. */
f32x4 direction(f32x4 y, f32x4 x);

/* Scale space [Lowe 2004, section 3]: LAYERS scales per octave, the first octave at twice the
 * size of the picture. OpenCV's settings: the map was made with them. */
#define LAYERS 3
#define BLURS (LAYERS + 3)
#define SIGMA 1.6
#define PICTURE_SIGMA 0.5
#define BORDER 5
#define SMALLEST_SIDE (2 * BORDER + 1)
#define MAX_OCTAVES 16

typedef struct {
    int32_t width, height, stride;
    float *blurred[BLURS];
} Octave;

typedef struct {
    float x, y;     /* in pixels of the picture; the centre of a pixel is a whole number */
    float diameter; /* of the neighbourhood, 2σ, in pixels of the picture */
    float angle;    /* degrees */
    float response;
    int32_t octave, layer;
} Keypoint;

void double_size(const uint8_t *gray, int32_t width, int32_t height, float *to, int32_t stride);
void blur(const float *from, float *to, const Octave *size, double sigma, float *row);
uint32_t blur_room(int32_t stride); /* bytes that `row` must have */
void fill_octave(Octave *octave, float *row);
void halve(const Octave *finer, Octave *coarser);

int detect_octave(const Octave *octave, int32_t index, float *rows);
uint32_t detect_room(int32_t stride); /* bytes that `rows` must have */
int add_keypoints(const Octave *octave, Keypoint point, int32_t column, int32_t row);
int push(Keypoint point); /* 0 where the memory is refused */
void describe(const Octave *octave, const Keypoint *point, uint8_t *descriptor);

#endif
