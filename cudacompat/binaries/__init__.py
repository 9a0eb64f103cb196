"""What an image's binaries can run on: fat binaries, the CUDA runtime's version, the loader's view.

Built for layers of many gigabytes: a file that can seek is read by its headers, a stream in one pass.
"""

from cudacompat.binaries.fatbins import read_fatbins
from cudacompat.binaries.observe import read_binary

__all__ = ["read_binary", "read_fatbins"]
