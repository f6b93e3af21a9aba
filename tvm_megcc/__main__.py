"""``python -m tvm_megcc`` is ``tvmc``."""

import sys

from tvm_megcc.cli import main

sys.exit(main())
