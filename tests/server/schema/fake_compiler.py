"""A compiler of masks that starts at once and does what it is told: it stands in for the real process."""

import json
import sys
import time

for line in sys.stdin:
    if "hang" in line:
        time.sleep(1_000)
    if "die" in line:
        sys.exit(1)
    said = "no such rule" if "wrong" in line else None
    sys.stdout.write(json.dumps({"fault": said}) + "\n")
    sys.stdout.flush()
