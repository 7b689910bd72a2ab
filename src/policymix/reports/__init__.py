"""Reports: what came out of the runs, as pages and figures."""
