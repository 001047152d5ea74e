"""Rosenblatt: linear classifiers that show their work."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .catalog import ESTIMATORS

if TYPE_CHECKING:
    from . import losses, mail
    from .certificates.files import load_certificate, save_certificate
    from .certificates.statements import Inseparable, Separable, Undecided
    from .certificates.verify import verify
    from .estimators.arow import AROW
    from .estimators.linear_mse import LinearMSE
    from .estimators.max_margin import MaxMargin
    from .estimators.nonlinear_mse import NonlinearMSE
    from .estimators.passive_aggressive import PassiveAggressive
    from .estimators.perceptron import Perceptron
    from .estimators.soft_margin import SoftMargin
    from .models.container import ModelError
    from .models.files import load, save
    from .models.model import Model
    from .online.stopping import Stop
    from .online.update_log import UpdateLog
    from .preprocessing.text.hasher import TextHasher
    from .preprocessing.text.vocabulary import Vocabulary
    from .progress import Progress, progress_callback
    from .proofs.certify import certify
    from .proofs.doctor.doctor import doctor
    from .proofs.doctor.findings import Diagnosis, Finding
    from .proofs.margins import margin, mistake_bound, radius
    from .proofs.minimum_errors.minimum_errors import MinimumErrors, minimum_errors
    from .studio.notebook import studio
    from .svm.not_separable import NotSeparable

__version__ = "0.1.0"

__all__ = [
    "AROW",
    "Diagnosis",
    "Finding",
    "Inseparable",
    "LinearMSE",
    "MaxMargin",
    "MinimumErrors",
    "Model",
    "ModelError",
    "NonlinearMSE",
    "NotSeparable",
    "PassiveAggressive",
    "Perceptron",
    "Progress",
    "Separable",
    "SoftMargin",
    "Stop",
    "TextHasher",
    "Undecided",
    "UpdateLog",
    "Vocabulary",
    "certify",
    "doctor",
    "load",
    "load_certificate",
    "losses",
    "mail",
    "margin",
    "minimum_errors",
    "mistake_bound",
    "progress_callback",
    "radius",
    "save",
    "save_certificate",
    "studio",
    "verify",
]

# The modules of the public names that are not estimators. Each name is imported on first access: importing scikit-learn and
# Numba takes a second, which `rosenblatt --help` must not.
_MODULES = {
    "Diagnosis": "proofs.doctor.findings",
    "Finding": "proofs.doctor.findings",
    "Inseparable": "certificates.statements",
    "MinimumErrors": "proofs.minimum_errors.minimum_errors",
    "Model": "models.model",
    "ModelError": "models.container",
    "NotSeparable": "svm.not_separable",
    "Progress": "progress",
    "Separable": "certificates.statements",
    "Stop": "online.stopping",
    "TextHasher": "preprocessing.text.hasher",
    "Undecided": "certificates.statements",
    "UpdateLog": "online.update_log",
    "Vocabulary": "preprocessing.text.vocabulary",
    "certify": "proofs.certify",
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
