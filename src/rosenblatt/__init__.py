"""Rosenblatt: linear classifiers that show their work."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import losses
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
    "margin",
    "minimum_errors",
    "mistake_bound",
    "radius",
    "save",
    "save_certificate",
    "studio",
    "verify",
]

# Loaded when first asked for: importing scikit-learn and Numba takes a second, which `rosenblatt --help` should not.
_HOMES = {
    "AROW": "estimators.arow",
    "Diagnosis": "proofs.doctor.findings",
    "Finding": "proofs.doctor.findings",
    "Inseparable": "certificates.statements",
    "LinearMSE": "estimators.linear_mse",
    "MaxMargin": "estimators.max_margin",
    "MinimumErrors": "proofs.minimum_errors.minimum_errors",
    "Model": "models.model",
    "ModelError": "models.container",
    "NonlinearMSE": "estimators.nonlinear_mse",
    "NotSeparable": "svm.not_separable",
    "PassiveAggressive": "estimators.passive_aggressive",
    "Perceptron": "estimators.perceptron",
    "Separable": "certificates.statements",
    "SoftMargin": "estimators.soft_margin",
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
    "margin": "proofs.margins",
    "minimum_errors": "proofs.minimum_errors.minimum_errors",
    "mistake_bound": "proofs.margins",
    "radius": "proofs.margins",
    "save": "models.files",
    "save_certificate": "certificates.files",
    "studio": "studio",
    "verify": "certificates.verify",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    home = importlib.import_module(f".{_HOMES[name]}", __name__)
    value = home if name == _HOMES[name] else getattr(home, name)  # a name that is its own home is a module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
