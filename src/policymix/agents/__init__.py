"""Who learns values: tables, networks, options."""
