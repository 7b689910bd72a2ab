"""Sources from data: what may be fitted, one fitter, and the models it makes.

`gather` reads columns, a dataset or an environment, `data` checks the rows, `fit` has
the loop and its settings, and `dynamics` and `policy` put the two together. Imports
`core` and the sources' own room, nothing above.
"""
