"""What can go wrong. The sentences are those of the command line, and never hold a cell's value."""


class DplmError(Exception):
    """Anything that dplm refuses or fails to do."""


class RequestError(DplmError, ValueError):
    """What was asked makes no sense: the formula, an option, the budget."""


class DataError(DplmError, ValueError):
    """The data cannot be used as they are: a missing column, a damaged file, too few rows."""


class FitError(DplmError, RuntimeError):
    """The fit failed, or its guarantee cannot be given."""


class LedgerError(DplmError, RuntimeError):
    """The ledger refused: too little budget left, no such data set, a damaged file."""
