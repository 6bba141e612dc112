// Fused backward passes on the CPU.
#include "api/options.h"
constexpr jitfuse::DeviceKind kGradientsDevice = jitfuse::DeviceKind::kCpu;
#include "tests/support/fused_gradients.h"
