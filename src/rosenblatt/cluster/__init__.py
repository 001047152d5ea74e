"""The same fits on rows in blocks: on this machine, or on a Dask cluster."""

from .certify import certify as certify
from .fit import fit as fit
