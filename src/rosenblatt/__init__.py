"""Rosenblatt: linear classifiers that show their work."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .catalog import ESTIMATORS

if TYPE_CHECKING:  # `X as X` exports a name
    from . import cluster as cluster
    from . import losses as losses
    from . import mail as mail
    from .certificates.exact_numbers import Interval as Interval
    from .certificates.files import load_certificate as load_certificate
    from .certificates.files import save_certificate as save_certificate
    from .certificates.statements import Inseparable as Inseparable
    from .certificates.statements import Separable as Separable
    from .certificates.statements import Undecided as Undecided
    from .certificates.verify import Check as Check
    from .certificates.verify import verify as verify
    from .estimators.arow import AROW as AROW
    from .estimators.linear_mse import LinearMSE as LinearMSE
    from .estimators.max_margin import MaxMargin as MaxMargin
    from .estimators.nonlinear_mse import NonlinearMSE as NonlinearMSE
    from .estimators.passive_aggressive import PassiveAggressive as PassiveAggressive
    from .estimators.perceptron import Perceptron as Perceptron
    from .estimators.soft_margin import SoftMargin as SoftMargin
    from .estimators.soft_margin_cv import SoftMarginCV as SoftMarginCV
    from .models.container import ModelError as ModelError
    from .models.explanations.explanation import Explanation as Explanation
    from .models.files import load as load
    from .models.files import save as save
    from .models.model import Model as Model
    from .online.stopping import Stop as Stop
    from .online.update_log import Update as Update
    from .online.update_log import UpdateLog as UpdateLog
    from .preprocessing.text.hasher import TextHasher as TextHasher
    from .preprocessing.text.vocabulary import Vocabulary as Vocabulary
    from .progress import Progress as Progress
    from .progress import progress_callback as progress_callback
    from .proofs.certify import certify as certify
    from .proofs.convergence import Convergence as Convergence
    from .proofs.doctor.doctor import doctor as doctor
    from .proofs.doctor.findings import Diagnosis as Diagnosis
    from .proofs.doctor.findings import Finding as Finding
    from .proofs.likelihood import NoMaximum as NoMaximum
    from .proofs.margins import margin as margin
    from .proofs.margins import mistake_bound as mistake_bound
    from .proofs.margins import radius as radius
    from .proofs.minimum_errors.minimum_errors import MinimumErrors as MinimumErrors
    from .proofs.minimum_errors.minimum_errors import minimum_errors as minimum_errors
    from .studio import studio as studio
    from .svm.not_separable import NotSeparable as NotSeparable
    from .training.trained import Trained as Trained
    from .training.trained import train as train
    from .training.tune import Tuned as Tuned
    from .training.tune import tune as tune

__version__ = "0.1.0"

# The modules of the public names that are not estimators. Each name is imported on first access: importing scikit-learn and
# Numba takes a second, which `rosenblatt --help` must not.
_MODULES = {
    "Check": "certificates.verify",
    "Convergence": "proofs.convergence",
    "Diagnosis": "proofs.doctor.findings",
    "Explanation": "models.explanations.explanation",
    "Finding": "proofs.doctor.findings",
    "Inseparable": "certificates.statements",
    "Interval": "certificates.exact_numbers",
    "MinimumErrors": "proofs.minimum_errors.minimum_errors",
    "Model": "models.model",
    "ModelError": "models.container",
    "NoMaximum": "proofs.likelihood",
    "NotSeparable": "svm.not_separable",
    "Progress": "progress",
    "Separable": "certificates.statements",
    "Stop": "online.stopping",
    "TextHasher": "preprocessing.text.hasher",
    "Trained": "training.trained",
    "Tuned": "training.tune",
    "Undecided": "certificates.statements",
    "Update": "online.update_log",
    "UpdateLog": "online.update_log",
    "Vocabulary": "preprocessing.text.vocabulary",
    "certify": "proofs.certify",
    "cluster": "cluster",
    "doctor": "proofs.doctor.doctor",
    "load": "models.files",
    "load_certificate": "certificates.files",
    "losses": "losses",
    "mail": "mail",
    "margin": "proofs.margins",
    "minimum_errors": "proofs.minimum_errors.minimum_errors",
    "mistake_bound": "proofs.margins",
    "progress_callback": "progress",
    "radius": "proofs.margins",
    "save": "models.files",
    "save_certificate": "certificates.files",
    "studio": "studio",
    "train": "training.trained",
    "tune": "training.tune",
    "verify": "certificates.verify",
}


def __getattr__(name: str) -> Any:
    if name in ESTIMATORS:
        value: Any = ESTIMATORS[name].load(name)
    elif name in _MODULES:
        module = importlib.import_module(f".{_MODULES[name]}", __name__)
        value = module if name == _MODULES[name] else getattr(module, name)  # a name that is its own module is that module
    else:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_MODULES, *ESTIMATORS})


if not TYPE_CHECKING:  # type checkers read the imports above
    __all__ = __dir__()
