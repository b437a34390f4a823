/* The few functions a library of mathematics would bring. */

#include "device.h"

#define PI 3.14159265358979323846
#define LN2 0.69314718055994530942

double exponential(double x) {
    if (x < -700) return 0;
    if (x > 700) x = 700;
    double power = __builtin_rint(x / LN2), rest = x - power * LN2, sum = 1;
    for (int32_t term = 13; term > 0; term--) sum = 1 + sum * rest / term; /* |rest| ≤ ln 2 / 2 */
    union { uint64_t bits; double value; } scale = {(uint64_t)(1023 + (int64_t)power) << 52};
    return sum * scale.value;
}

void sine_cosine(double degrees, float *sine, float *cosine) {
    double turns = __builtin_rint(degrees / 90), rest = (degrees - 90 * turns) * (PI / 180);
    double s = 1, c = 1, square = rest * rest; /* |rest| ≤ π/4 */
    for (int32_t term = 14; term > 0; term -= 2) {
        s = 1 - s * square / (term * (term + 1));
        c = 1 - c * square / (term * (term - 1));
    }
    s *= rest;
    switch ((int32_t)turns & 3) {
    case 0: *sine = (float)s, *cosine = (float)c; break;
    case 1: *sine = (float)c, *cosine = (float)-s; break;
    case 2: *sine = (float)-s, *cosine = (float)-c; break;
    default: *sine = (float)-c, *cosine = (float)s;
    }
}

void bell(float *weights, int32_t count, double factor) {
    /* exp(−(k+1)²f) = exp(−k²f) · exp(−(2k+1)f): one exponential for all. */
    double value = 1, ratio = exponential(-factor), square = ratio * ratio;
    for (int32_t k = 0; k < count; k++) {
        weights[k] = (float)value;
        value *= ratio;
        ratio *= square;
    }
}

f32x4 direction(f32x4 y, f32x4 x) {
    /* The odd polynomial of five terms nearest to the arc tangent on 0 … 1, in degrees. */
    f32x4 wide = magnitude(x), tall = magnitude(y);
    f32x4 ratio = smaller(wide, tall) / (larger(wide, tall) + splat(1e-30f));
    f32x4 square = ratio * ratio;
    f32x4 angle = splat(1.19433707f) * square - splat(4.8790995f);
    angle = angle * square + splat(10.32236722f);
    angle = angle * square - splat(18.92507016f);
    angle = (angle * square + splat(57.28812076f)) * ratio;
    angle = choose(wide < tall, splat(90) - angle, angle);
    angle = choose(x < splat(0), splat(180) - angle, angle);
    return choose(y < splat(0), splat(360) - angle, angle);
}
