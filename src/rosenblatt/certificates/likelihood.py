"""What labeled rows say about maximum likelihood: complete separation, quasi-complete separation, or overlap.

Problem    logistic regression without a penalty, two classes or several: do finite weights maximize the likelihood?
Guarantee  with d(i, z) = (w_l - w_z).x_i + b_l - b_z for a row i of class l and any other class z, there is
           complete separation        planes with d > 0 for all pairs (i, z);
           quasi-complete separation  no such planes, but planes with d >= 0 for all pairs, and d > 0 for some;
           overlap                    d >= 0 for all pairs only if d = 0 for all of them.
           The likelihood has a maximum exactly if the rows overlap: along planes that separate, it rises forever. The
           *face* is the set of pairs with d = 0. If weights that are all positive bring the signed sum of the face to zero,
           then d = 0 on the face for all planes with d >= 0: no planes separate more pairs. Without planes, the face is the
           set of all pairs, and such weights prove overlap.
Reference  A. Albert and J. A. Anderson, Biometrika 71 (1984); E. Stiemke, Math. Annalen 76 (1915); T. S. Motzkin (1936).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from .statements import Pair, Plane

MAX_LISTED_ROWS = 12

SeparationKind = Literal["complete", "quasi-complete", "overlap"]


class RowList(NamedTuple):
    """The number of some rows and the positions, from 0, of the first 12 of them."""

    total: int
    first: tuple[int, ...]


@dataclass(frozen=True)
class Likelihood:
    """How far the classes are separated, with the proof.

    Parameters
    ----------
    planes : tuple of Plane
        Planes with d >= 0 for all pairs of a row and another class; one plane for two classes. Empty if the rows overlap.
    weights : tuple of Pair
        Pairs of the face with their weights. All other pairs of the face have the weight 1, and the weighted sum is zero.
    separated : RowList
        The rows with d > 0 against at least one class.
    on_plane : RowList
        The rows with d = 0 against at least one class.
    """

    planes: tuple[Plane, ...]
    weights: tuple[Pair, ...]
    separated: RowList
    on_plane: RowList

    @property
    def kind(self) -> SeparationKind:
        """ "complete", "quasi-complete" or "overlap"."""
        if not self.planes:
            return "overlap"
        return "quasi-complete" if self.on_plane.total else "complete"

    @property
    def columns(self) -> list[int]:
        """The columns in which the planes differ between classes: those that separate."""
        used = sorted({column for plane in self.planes for column in plane.weights})
        zero = Fraction(0)
        if len(self.planes) == 1:
            return [column for column in used if self.planes[0].weights[column]]
        return [c for c in used if len({plane.weights.get(c, zero) for plane in self.planes}) > 1]
