// Fused backward passes on a GPU.
#include "api/options.h"
constexpr jitfuse::DeviceKind kGradientsDevice = jitfuse::DeviceKind::kCuda;
#include "tests/support/fused_gradients.h"
