"""absl's flags, for programs that set options on their command line. absl is optional: imported on first use."""

from absl import app as app
from absl import flags as flags
