// The command `jitfuse` as a program of its own: without Python, so without Python functions.
#include "cli/main.h"

int main(int argc, char** argv) { return jitfuse_cli::Main(argc, argv, nullptr); }
