/* One stack in the module's own memory. The size is checked before anything is written, and
 * nothing is ever freed one by one: a picture takes what it needs, the next one starts anew. */

#include "device.h"

#define PAGE 65536u

extern unsigned char __heap_base;
static uint64_t top;

static uint64_t bottom(void) { return ((uint64_t)(uintptr_t)&__heap_base + 15) & ~15ull; }

void *take(uint64_t bytes) {
    if (top == 0) top = bottom();
    uint64_t end = (top + bytes + 15) & ~15ull;
    /* Vectors read up to 32 bytes past a row: the memory always reaches beyond what was taken. */
    uint64_t wanted = end + 64;
    uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
    if (bytes > 0xfff00000ull || wanted > 0xffff0000ull) return 0;
    if (wanted > have) {
        uint64_t pages = (wanted - have + PAGE - 1) / PAGE;
        if (__builtin_wasm_memory_grow(0, (uint32_t)pages) == (unsigned long)-1) return 0;
    }
    void *taken = (void *)(uintptr_t)top;
    top = end;
    return taken;
}

uint32_t mark(void) {
    if (top == 0) top = bottom();
    return (uint32_t)top;
}

void release(uint32_t to) { top = to; }
