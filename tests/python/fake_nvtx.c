/* A tool for NVTX, as a profiler would be: writes ranges to stderr. FAKE_NVTX=refuse: takes no program. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*Function)(void);
struct Callbacks {
    size_t struct_size;
    int (*get_module_function_table)(int module, Function*** table, unsigned* size);
};

static int push(const char* name) { return fprintf(stderr, "push %s\n", name), 0; }
static int pop(void) { return fprintf(stderr, "pop\n"), 0; }

int InitializeInjectionNvtx2(const void* (*exported)(uint32_t))
{
    const struct Callbacks* callbacks = exported(1);
    Function** table = NULL;
    unsigned size = 0;
    if (getenv("FAKE_NVTX") != NULL || callbacks == NULL || exported(3) != NULL) return 0;
    if (callbacks->get_module_function_table(5, &table, &size) != 0) return 0; /* domains, which nobody asked for */
    if (callbacks->get_module_function_table(1, &table, &size) == 0 || size <= 11) return 0;
    *table[9] = (Function)push;
    *table[11] = (Function)pop;
    return 1;
}
