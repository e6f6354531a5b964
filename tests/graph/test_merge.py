"""Sorted lists of which some entries go and others come."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.arrays import IriList, Merge, packed, unpacked

names = st.sets(st.text("abé\ud83d", max_size=3))


@given(names, names, names)
def test_it_is_what_a_sort_gives(old: set[str], gone: set[str], other: set[str]) -> None:
    come = sorted(other - (old - gone))
    before, new = IriList.of(old), IriList.of(come)
    merge = Merge.of(before, sorted(gone), come)
    after = merge.iris(before, new)
    assert after == IriList.of((old - gone) | set(come))
    assert merge.size == len(old & gone) + len(come)

    values = merge.values(np.arange(len(before)), -1 - np.arange(len(new)))
    named = [before[int(v)] if v >= 0 else new[int(-1 - v)] for v in values]
    assert named == list(after)
    rows = merge.rows(len(before)).tolist()
    assert [after[row] if row >= 0 else None for row in rows] == [
        None if iri in gone else iri for iri in before
    ]
    assert [after[row] for row in merge.new_rows().tolist()] == come

    texts = merge.texts(*packed([2 * iri for iri in before]), *packed([2 * iri for iri in new]))
    assert unpacked(*texts) == [2 * iri for iri in after]
