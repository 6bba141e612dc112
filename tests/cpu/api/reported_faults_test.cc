// The reported faults on the CPU.
#include "api/options.h"
constexpr jitfuse::DeviceKind kFaultsDevice = jitfuse::DeviceKind::kCpu;
#include "tests/support/reported_faults_shapes.h"
#include "tests/support/reported_faults_values.h"
