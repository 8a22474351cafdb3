"""What compiled loops take for granted of a sparse matrix, asked once before they see it.

A loop over CSR rows reads `indices[indptr[i] : indptr[i + 1]]` and then places `0 .. n_columns - 1` of tables, with no test. One pass
over the indices says whether that holds, and whether every row is in canonical form: its places rise, so none occurs twice.
"""

from .compile import compiled

FINE, UNSORTED, FALLING, RANGE = 0, 1, 2, 3


@compiled
def check_rows(indptr, indices, n_columns):
    """(verdict, row). RANGE: a place outside of the columns. FALLING: `indptr` falls. UNSORTED: a row is not canonical."""
    size, unsorted = len(indices), -1
    if indptr[0] != 0:
        return FALLING, 0
    for i in range(len(indptr) - 1):
        first, last = indptr[i], indptr[i + 1]
        if last < first or last > size:
            return FALLING, i
        before = -1
        for position in range(first, last):
            place = indices[position]
            if place < 0 or place >= n_columns:
                return RANGE, i
            if place <= before and unsorted < 0:
                unsorted = i
            before = place
    return (FINE, -1) if unsorted < 0 else (UNSORTED, unsorted)


@compiled
def check_places(places, size):
    """The first of the places that is not one of 0 .. size - 1; -1 where all are."""
    for position in range(len(places)):
        if places[position] < 0 or places[position] >= size:
            return position
    return -1
