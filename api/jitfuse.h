// Everything a program needs: #include <jitfuse/jitfuse.h>. (jitfuse/dlpack.h and jitfuse/inspect.h
// are included separately.)
#ifndef JITFUSE_API_JITFUSE_H_
#define JITFUSE_API_JITFUSE_H_

#include "array.h"
#include "cache.h"
#include "context.h"
#include "function.h"
#include "gradient.h"
#include "mlp.h"
#include "ops.h"
#include "options.h"
#include "random.h"
#include "stats.h"
#include "status.h"
#include "tensor.h"
#include "trace.h"

#endif  // JITFUSE_API_JITFUSE_H_
