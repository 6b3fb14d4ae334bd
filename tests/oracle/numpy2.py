"""What a test that compares with NumPy begins with: without NumPy 2 it is skipped."""
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)
if int(np.__version__.split(".")[0]) < 2:
    print(f"skipped: NumPy {np.__version__} is older than 2")
    sys.exit(77)
