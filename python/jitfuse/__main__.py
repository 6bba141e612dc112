"""python -m jitfuse: the command jitfuse."""

import sys

from ._command import main

sys.exit(main())
