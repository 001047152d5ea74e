"""The same fits on rows in blocks: on this machine, or on a Dask cluster."""

from .certify import certify as certify
from .fit import fit as fit
from .mixing import MixingReport as MixingReport
from .predictions import Evaluation as Evaluation
from .predictions import evaluate as evaluate
from .predictions import margin as margin
from .predictions import predict as predict
from .read import FileBlocks as FileBlocks
from .read import read as read

__all__ = ["Evaluation", "FileBlocks", "MixingReport", "certify", "evaluate", "fit", "margin", "predict", "read"]
