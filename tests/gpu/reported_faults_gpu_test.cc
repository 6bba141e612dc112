// The reported faults on a GPU.
#include "api/options.h"
constexpr jitfuse::DeviceKind kFaultsDevice = jitfuse::DeviceKind::kCuda;
#include "tests/support/reported_faults_shapes.h"
#include "tests/support/reported_faults_values.h"
